"""Make x from what a file holds: embeddings, feature columns or text.

An encoder is fitted once, on train and validation rows, and kept with the model, so that new rows are put into
numbers in the same way. Its saved form is a JSON-able dictionary and named arrays; there is no pickle. None of the
encoders sees confidences or outcomes.

To add one, write a module with a subclass of :class:`~miscal.data.encoders.features.Encoder` and list the class
in `texts.ENCODERS`. An encoder of text, of kind ``text-NAME``, is then chosen by ``embed_model="NAME"`` or, on the
command line, ``--embed-model NAME``.

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
