"""
A correction that looks at the input
====================================

``CalibratedClassifierCV`` maps a probability to another one, whatever the input is. ``LocalCalibratedClassifier``
looks at the input too. Outcomes are planted here: a logistic regression cannot see that the second column raises the
chance where the third is above zero, and lowers it elsewhere, so its errors of the two halves cancel out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from miscal import LocalCalibratedClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 3))
chance = 1 / (1 + np.exp(-(X[:, 0] + 2 * X[:, 1] * (X[:, 2] > 0) - X[:, 1])))
y = (rng.random(3000) < chance).astype(int)
learn, check = slice(0, 2000), slice(2000, None)

models = {
    "as it is": LogisticRegression(),
    "CalibratedClassifierCV": CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=5),
    "LocalCalibratedClassifier": LocalCalibratedClassifier(LogisticRegression(), cv=5),
}
predicted = {name: model.fit(X[learn], y[learn]).predict_proba(X[check])[:, 1] for name, model in models.items()}
for name, p in predicted.items():
    print(f"{name:<26} log loss {log_loss(y[check], p):.3f} on 1,000 rows that nothing was learned from")

# %%
# The true chances are known, because they were planted. A point on the line is a probability that is right.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharex=True, sharey=True, layout="constrained")
for axis, (name, p) in zip(axes, predicted.items(), strict=True):
    axis.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    axis.scatter(p, chance[check], s=4, alpha=0.5)
    axis.set(title=name, xlabel="predicted")
axes[0].set_ylabel("true chance")
plt.show()
