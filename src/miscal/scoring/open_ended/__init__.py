"""Open-ended questions: a model writes its answer, and one or several confidences of this answer are taken.

`asking` is what runs beside the model, `sources` holds one file for each confidence, `frequency` and `matching` are the
formulas, and `answered_rows` puts the table together. Nothing here but `asking` knows that models exist.
"""
