"""
Ten classes
===========

A classifier of handwritten digits gives ten probabilities for each image. They are read as they come from
``predict_proba``. The outcome is the true digit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

import miscal

digits = load_digits()
model = GaussianNB(var_smoothing=1e-3)
probabilities = cross_val_predict(model, digits.data, digits.target, cv=5, method="predict_proba")
found = miscal.discover(
    {"ink": digits.data.mean(axis=1), "left": digits.images[:, :, :4].mean(axis=(1, 2))},
    probabilities=probabilities,
    label=digits.target,
    classes=np.arange(10),
    progress=False,
)
print(found)

# %%
# How sure the classifier is of the digit that it names, and how often it is right.

found.plot.reliability()
plt.show()

# %%
# The same for each digit, as a table.

print(found.classes.select("class", "labels", "chosen", "log_loss", "log_loss_after"))
