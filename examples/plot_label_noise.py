"""
Wrong labels
============

The data are measurements of cells from 569 breast biopsies, benign or malignant. Some of the
training labels are flipped, malignant ones more often than benign ones, as if tumours had been
overlooked. How much accuracy do classifiers lose?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kmpe import ELMClassifier, RobustClassifier

X, y = load_breast_cancer(return_X_y=True)
models = {
    "random forest": RandomForestClassifier(50, random_state=0),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "ELMClassifier": make_pipeline(StandardScaler(), ELMClassifier(random_state=0)),
    "RobustClassifier(logistic)": RobustClassifier(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    ),
}

# %%
# The test labels are correct, so the accuracy is the share of patients with the right diagnosis.
shares = [0.0, 0.1, 0.2, 0.3]
accuracy = {name: np.zeros(len(shares)) for name in models}
draws = 2
for draw in range(draws):
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=draw, stratify=y)
    rng = np.random.default_rng(draw)
    for i, share in enumerate(shares):
        chance = np.where(y_train == 0, share, share / 3)
        labels = np.where(rng.uniform(size=len(y_train)) < chance, 1 - y_train, y_train)
        for name, model in models.items():
            accuracy[name][i] += model.fit(X_train, labels).score(X_test, y_test) / draws

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, values), style in zip(accuracy.items(), ("C2.:", "k.--", "C0.-", "C3.-"), strict=True):
    ax.plot(100 * np.array(shares), 100 * values, style, label=name)
ax.set(xlabel="malignant labels flipped, %", ylabel="accuracy, %")
ax.legend(frameon=False)
plt.show()
