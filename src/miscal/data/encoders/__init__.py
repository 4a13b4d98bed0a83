"""Make the inputs x of embeddings, columns or texts; no encoder sees confidences or outcomes.

In: columns that the readers have checked; an encoder is fitted once, on train and validation rows.
Out: a matrix x with its layout, and the fitted encoder as JSON and arrays, kept with the model.

An encoder of text, of kind ``text-NAME``, is chosen by ``embed_model="NAME"`` or ``--embed-model NAME``.

======================  ==================  ==========================================================
class                   `transform` takes   x
======================  ==================  ==========================================================
Embeddings              (n, d) array        the array itself
FeatureColumns          polars frame        numbers, dates and few categories; then the level of each column
TextTfidfSvd            n texts             TF-IDF projected on its leading singular vectors
TextSentenceTransformer n texts             a sentence-transformers model, unit length
Combined                a pair of these     one of the others, and FeatureColumns beside it
======================  ==================  ==========================================================
"""
