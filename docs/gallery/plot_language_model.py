"""
Answers of a language model
===========================

A language model of 135 million parameters has answered 6,460 questions. The packaged file holds what it was asked, how
sure it was, and whether it was right. Which kinds of questions is it wrong about?
"""

import matplotlib.pyplot as plt

import miscal
from miscal.scoring.demo import path

found = miscal.discover(path(), features="x_*", text="text", metadata=["domain"], progress=False)
print(found)

# %%
# The curve of all rows says that the model is too sure. The curves of groups say more: at one and the same confidence,
# one kind of question is answered far better than another.

found.plot.reliability(by="domain")
plt.show()

# %%
# Groups whose error no reliability diagram shows, each with an interval that allows for its having been chosen.

found.plot.findings()
plt.show()
