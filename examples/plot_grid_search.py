"""
A search needs a robust score as well
=====================================

The data are the fuel consumptions of 392 cars (mlxtend), a tenth of which are spoilt. A search
picks the setting with the best cross-validated score. If that score is the mean squared error, the
spoilt rows in the test folds determine it, however robust the models are. ``kmpe_loss`` is a
robust score.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from mlxtend.data import autompg_data
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from kmpe.metrics import kmpe_loss

X, y = autompg_data()
X = X[:, :6].astype(float)
rng = np.random.default_rng(1)
order = rng.permutation(len(y))
train, test = order[:260], order[260:]
spoilt = y[train].copy()
bad = rng.choice(len(train), 26, replace=False)
spoilt[bad] *= rng.choice([0.1, 10.0], len(bad))  # a decimal point in the wrong place

# %%
# We want the smallest error on clean test rows. Which of the two scores finds it?
widths = np.logspace(-3, 1.5, 19)
scores = {
    "mean squared error": "neg_mean_squared_error",
    "kmpe_loss": make_scorer(kmpe_loss, greater_is_better=False, p=2, sigma=5.0),
}
model = make_pipeline(StandardScaler(), SVR(C=30))
search = GridSearchCV(
    model,
    {"svr__gamma": widths},
    scoring=scores,
    refit=False,
    cv=KFold(5, shuffle=True, random_state=0),
).fit(X[train], spoilt)

truth = []
for gamma in widths:
    model.set_params(svr__gamma=gamma).fit(X[train], spoilt)
    error = np.abs(model.predict(X[test]) - y[test])
    truth.append(np.median(error))

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.semilogx(widths, truth, "k.-", label="median error on clean test rows")
for (name, _), color in zip(scores.items(), ("C3", "C0"), strict=True):
    chosen = widths[np.argmax(search.cv_results_[f"mean_test_{name}"])]
    ax.axvline(chosen, color=color, ls="--", label=f"chosen by {name}: {chosen:.2g}")
ax.set(xlabel="gamma of the kernel", ylabel="miles per gallon")
ax.legend(frameon=False)
plt.show()
