"""Section V.C: reconstruction of contaminated face images (Figures 2 to 6)."""

import base64
from typing import Any

import numpy as np

from kmpe.datasets import contaminate_images, load
from kmpe.metrics import reconstruction_error
from kmpe.paper.parts import Part
from kmpe.paper.plan import Plan, chunks, payload_of
from kmpe.paper.settings import PCA_METHODS, seed_of, settings
from kmpe.paper.subspaces import fit_methods

__all__ = [
    "EIGENFACES",
    "KINDS",
    "OCCLUDED",
    "RECONSTRUCTED",
    "load_faces",
    "pack",
    "plan",
    "unpack",
    "work",
]

KINDS = ("occlusion", "dummy")
#: Keys of the images that "face examples" makes; written to part files.
OCCLUDED, EIGENFACES, RECONSTRUCTED = "fig2", "fig5", "fig6"


def plan(todo: Plan) -> list[Part]:
    """Return the parts for Figures 2 to 6."""
    parts: list[Part] = []
    real = "yale" in todo.here
    source = "yale" if real else "lfw"
    outliers = (settings()["faces"] if real else settings()["stand_in"]["faces"])["outliers"]
    for kind in KINDS:
        if f"reconstruction {kind}" in todo.experiments:
            for n in outliers:
                payload = payload_of({"source": source, "kind": kind, "outliers": n})
                parts += chunks(
                    todo, f"reconstruction {kind}", str(n), todo.face_draws, 1, payload, 5.0
                )
    if "face examples" in todo.experiments:
        payload = payload_of({"source": source, "outliers": outliers[0]})
        parts += chunks(todo, "face examples", source, 1, 1, payload, 4.0)
    return parts


def work(part: Part, payload: dict[str, Any], data_dir: str | None) -> list[Any]:
    """Run a part."""
    images = load_faces(payload["source"], data_dir)
    if part.experiment == "face examples":
        return [_examples(images, payload["outliers"], part.seed)]
    return [
        _errors(images, payload["kind"], payload["outliers"], part.seed, repeat)
        for repeat in range(part.first, part.last)
    ]


def load_faces(source: str, data_dir: str | None) -> Any:
    """Return the faces as images with values from 0 to 255."""
    if source == "yale":
        data = load("yale", data_dir=data_dir, download=False)
        return data.X.reshape(-1, *data.image_shape)
    from skimage.data import lfw_subset

    return 255 * lfw_subset()[:100]  # type: ignore[no-untyped-call]  # the others are not faces


def _errors(
    images: Any, kind: str, outliers: int, seed: int, repeat: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the error (35) over all images and over the inliers, by method and by m."""
    state = seed_of(seed, kind, outliers, repeat)
    contaminated, mask = contaminate_images(images, outliers, kind=kind, random_state=state)
    X, original = (array.reshape(len(images), -1) for array in (contaminated, images))
    found: dict[str, dict[str, dict[str, float]]] = {"all": {}, "inliers": {}}
    for method, models in fit_methods(X, settings()["faces"]["components"], state).items():
        for average, rows in (("all", None), ("inliers", ~mask)):
            found[average][method] = {
                str(m): reconstruction_error(model, X, original, inliers=rows)
                for m, model in models.items()
            }
    return found


def _examples(images: Any, outliers: int, seed: int) -> dict[str, Any]:
    """Return the pictures of Figures 2, 5 and 6."""
    faces = settings()["faces"]
    found: dict[str, Any] = {}
    for kind in KINDS:
        contaminated, mask = contaminate_images(
            images, outliers, kind=kind, random_state=seed_of(seed, kind, outliers, 0)
        )
        X = contaminated.reshape(len(contaminated), -1)
        bad, good = np.flatnonzero(mask), np.flatnonzero(~mask)
        if kind == "occlusion":
            found[OCCLUDED] = pack(np.stack([images[bad[:8]], contaminated[bad[:8]]]))
        models = fit_methods(X, (faces["eigenfaces"], faces["reconstruction"]), seed)
        eigenfaces = [
            [_grey(face) for face in models[method][faces["eigenfaces"]].components_]
            for method in PCA_METHODS
        ]
        found[f"{EIGENFACES} {kind}"] = pack(np.array(eigenfaces).reshape(6, -1, *images.shape[1:]))
        shown = np.concatenate([bad[:4], good[:2]])
        rebuilt = [X[shown]]
        for method in PCA_METHODS:
            model = models[method][faces["reconstruction"]]
            rebuilt.append(model.inverse_transform(model.transform(X[shown])))
        found[f"{RECONSTRUCTED} {kind}"] = pack(np.array(rebuilt).reshape(7, -1, *images.shape[1:]))
    return found


def _grey(face: Any) -> Any:
    """Scale an eigenface to the grey levels 0 to 255."""
    return 255 * (face - face.min()) / (face.max() - face.min())


def pack(images: Any) -> dict[str, Any]:
    """Return images as a value that JSON can hold."""
    pixels = np.clip(np.rint(images), 0, 255).astype(np.uint8)
    return {"shape": pixels.shape, "pixels": base64.b64encode(pixels.tobytes()).decode()}


def unpack(packed: dict[str, Any]) -> Any:
    """Return the images that ``pack`` was given, rounded to grey levels."""
    pixels = np.frombuffer(base64.b64decode(packed["pixels"]), dtype=np.uint8)
    return pixels.reshape(packed["shape"])
