"""Files that somebody damaged or forged: good ones of every kind, and ways to spoil them.

Good files are made by fits, spoiled ones by code, so none of them is kept in the repository.
"""

import copy
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save as to_bytes
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    BoostingPUClassifier,
    DistilledPUClassifier,
    LogisticPUClassifier,
    MixPULClassifier,
    NNPUClassifier,
    PUAUCClassifier,
    RampClassifier,
    SupervisedClassifier,
    UPUClassifier,
    VPUClassifier,
    WeightedSVMClassifier,
    load,
    save,
)
from mixpul._util.tensor_files import checksum, read_tensors
from mixpul.images import ImageFeatures

NET = {"net": (6,), "n_epochs": 1, "min_steps": None, "cross_fitting": 2, "random_state": 0}
KERNEL = {"n_centres": 12, "random_state": 0}
ALL = {"rows": "numbers"}


class Corners(nn.Module):
    """An extractor of the user's own."""

    def forward(self, images):
        return images[..., ::4, ::4].flatten(1)


def load_kind(path, kind):
    """Load a model file of a kind, with what it does not store."""
    return load(path, **({"extractor": Corners()} if kind == "features" else {}))


def list_kinds():
    """Map the name of each kind of model file to a classifier and the rows it takes."""
    seed = {"random_state": 0}
    two = ["logistic-0.1", "trees"]
    return {
        "mixpul": (MixPULClassifier(**NET), "numbers"),
        "mixpul kernel": (MixPULClassifier(**NET | {"net": "kernel"}), "numbers"),
        "mixpul settings": (MixPULClassifier(**NET | {"weight_decay": [0.0, 0.1]}), "numbers"),
        "mixpul images": (MixPULClassifier(**NET | {"net": "small-conv"}), "images"),
        "mixpul labels": (MixPULClassifier(**NET, pos_label="known"), "labels"),
        "vpu": (VPUClassifier(**NET), "numbers"),
        "nnpu": (NNPUClassifier(**NET | {"net": "skip-mlp"}, prior=0.3), "numbers"),
        "upu": (UPUClassifier(**KERNEL, prior=0.3), "numbers"),
        "upu network": (UPUClassifier(**NET, prior=0.3, model="mlp"), "numbers"),
        "ramp": (RampClassifier(**KERNEL, prior=0.3), "numbers"),
        "pu-auc": (PUAUCClassifier(**KERNEL, prior=0.3), "numbers"),
        "wsvm": (WeightedSVMClassifier(**seed), "numbers"),
        "supervised": (
            SupervisedClassifier(n_evals=1, n_rounds=8, min_leaf="scaled", **seed),
            "numbers",
        ),
        "bagging": (BaggingPUClassifier(n_estimators=5, **seed), "numbers"),
        "boosting": (BoostingPUClassifier(n_estimators=2, n_trees=3, **seed), "numbers"),
        "logistic": (LogisticPUClassifier(C=1.0, **seed), "numbers"),
        "logistic kernel": (LogisticPUClassifier(C=1.0, n_landmarks=9, **seed), "numbers"),
        "auto": (AutoPUClassifier(candidates=two, n_folds=2, **seed), "numbers"),
        "auto distilled": (
            AutoPUClassifier(candidates=two, n_folds=2, distill=True, **seed),
            "numbers",
        ),
        "distilled": (DistilledPUClassifier(LogisticPUClassifier(C=1.0), **seed), "numbers"),
        "features": (LogisticPUClassifier(C=1.0, **seed), "pixels"),
        "steps": (BaggingPUClassifier(n_estimators=4, **seed), "steps"),
        "pipeline": (BaggingPUClassifier(n_estimators=4, **seed), "table"),
        "pipeline auto": (AutoPUClassifier(candidates=two, n_folds=2, **seed), "table"),
    }


def make_rows(kind):
    """Return rows and PU labels."""
    random = np.random.default_rng(0)
    truth = random.random(60) < 0.4
    X = (random.normal(size=(60, 4)) + 2 * truth[:, None]).astype(np.float32)
    y = (truth & (random.random(60) < 0.6)).astype(int)
    if kind in ("images", "pixels"):
        return np.clip(128 + 20 * np.tile(X[:, :3], (1, 64)), 0, 255).astype(np.uint8).reshape(
            60, 3, 8, 8
        ), y
    if kind == "labels":
        return X, np.where(y == 1, "known", "unknown")
    if kind in ("table", "steps"):
        table = pd.DataFrame(X, columns=list("abcd"))
        table.loc[random.random(60) < 0.2, "a"] = np.nan
        table["b"] = np.exp(3 * table["b"])
        table["city"] = random.choice(["Rome", "Oslo", "Bonn"], 60)
        table["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 90, 60), "D")
        table["is_new"] = random.random(60) < 0.5
        return table, y
    return X, y


def make_steps():
    """Return steps of scikit-learn for the columns of a table."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return ColumnTransformer(
        [
            ("numbers", numbers, ["a", "b"]),
            ("words", OneHotEncoder(handle_unknown="ignore"), ["city"]),
        ]
    )


def write_models(folder, names=None):
    """Fit a model of each kind, and write its file and the scores it gives; return the names."""
    from mixpul.tables import TableInput

    kinds = list_kinds()
    names = list(kinds) if names is None else list(names)
    for name in names:
        classifier, rows = kinds[name]
        X, y = make_rows(rows)
        model = classifier
        if rows == "table":
            model = make_pipeline(TableInput(), classifier)
        if rows == "pixels":
            model = make_pipeline(ImageFeatures(Corners(), size=8, n_components=5), classifier)
        if rows == "steps":
            model = make_pipeline(make_steps(), classifier)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        note = {"label": "bought", "seed": 0, "columns": ["a"]}
        save(model, Path(folder) / f"{name}.mixpul", info=note, scores=np.linspace(0, 1, 60))
        np.save(Path(folder) / f"{name}.npy", model.decision_function(X))
    return names


# -- damage ---------------------------------------------------------------------------------


def mutate(content, random):
    """Change some bytes, cut, double, move or insert pieces."""
    content = bytearray(content)
    for _ in range(int(random.integers(1, 5))):
        n = len(content)
        place = int(random.integers(0, max(1, n)))
        # The head says what the rest means: half of all changes are there.
        if random.random() < 0.5:
            place = min(place, int(random.integers(0, 3000)))
        length = int(random.integers(1, 30))
        how = random.integers(0, 7)
        if how <= 1 and n:
            content[place % n] ^= 1 << int(random.integers(8))
        elif how == 2 and n:
            content[place % n] = int(random.integers(256))
        elif how == 3:
            del content[place : place + length]
        elif how == 4:
            content[place:place] = content[place : place + length]
        elif how == 5:
            content[place:place] = random.bytes(length)
        else:
            digits = [k for k in range(place, min(n, place + 400)) if 48 <= content[k] <= 57]
            for k in digits[:1]:
                content[k] = 48 + int(random.integers(10))
    if random.random() < 0.05:
        del content[int(random.integers(0, len(content) + 1)) :]
    return bytes(content)


# -- forgery --------------------------------------------------------------------------------


def read_parts(content, folder):
    """Return the tensors and the description of a good file."""
    path = Path(folder) / "parts"
    path.write_bytes(content)
    arrays, description = read_tensors(path, "mixpul")
    # Of torch, which also has types that no file may have.
    return {name: torch.from_numpy(array) for name, array in arrays.items()}, description


def join_parts(tensors, description):
    """Write a file with a checksum that is right."""
    try:
        text = json.dumps(description | {"sha256": checksum(tensors, description)})
    except TypeError:  # of a type that has no checksum, such as bfloat16
        text = json.dumps(description | {"sha256": "0" * 64})
    return to_bytes({k: v.contiguous().clone() for k, v in tensors.items()}, {"mixpul": text})


VALUES = [
    None, True, -1, 0, 10**9, 10**400, 1.5, -1e308, 1e308, 1e-320, float("nan"), float("inf"), "",
    "x", "\x1b[31m[/red]", [], [1], [[]], {}, {"a": 1}, {"unstored": True}, [30000, 30000],
    {"array": ["a"], "dtype": "str"}, {"array": [1, [2]], "dtype": "object"}, {"items": [1]},
    {"part": "RandomMiner", "params": {}}, {"part": "RandomMiner", "params": 3}, {"arrays": ["a"]},
]  # fmt: skip


def spoil_value(value, random):
    """Return something else in the place of a value: a near miss, or anything."""
    if isinstance(value, int | float) and not isinstance(value, bool) and random.random() < 0.4:
        return random.choice([value + 1, -value, value * 10**6, value / 3 if value else 7]).item()
    if isinstance(value, list) and value and random.random() < 0.4:
        return [value[:-1], value * 2, [*value, None], [value], value[::-1]][random.integers(5)]
    return copy.deepcopy(VALUES[random.integers(len(VALUES))])


def spoil_tensor(tensor, random):
    """Return a tensor of another shape, type or content."""
    flat = tensor.flatten().clone()
    how = random.integers(0, 10)
    if how == 0:
        return tensor[..., :0]
    if how == 1:
        return flat[: len(flat) // 2]
    if how == 2:
        return tensor[None]
    if how == 3:
        return tensor.T if tensor.ndim == 2 else torch.cat([flat, flat])
    if how == 4:
        return tensor.to([torch.bfloat16, torch.float16, torch.float8_e4m3fn][random.integers(3)])
    if how == 5:
        return tensor.to([torch.int64, torch.float64, torch.bool, torch.uint8][random.integers(4)])
    if how == 6 and len(flat):
        return torch.zeros((), dtype=tensor.dtype)
    if len(flat):
        odd = [-1, 0, 2**31 - 1, -(2**31), 5, 99999]
        odd = [*odd, float("nan"), float("inf"), 1e38] if tensor.is_floating_point() else odd
        if tensor.dtype not in (torch.bool, torch.uint8):
            flat[int(random.integers(len(flat)))] = odd[random.integers(len(odd))]
        else:
            flat[int(random.integers(len(flat)))] = 1
    return flat.reshape(tensor.shape)


def list_places(value, place=()):
    """Yield where values stand in a description, as tuples of keys."""
    yield place
    entries = value.items() if isinstance(value, dict) else ()
    for key, entry in enumerate(value) if isinstance(value, list) else entries:
        yield from list_places(entry, (*place, key))


def spoil_entry(description, place, random):
    """Remove what stands at a place of a description, or put something else there."""
    *path, key = place
    for step in path:
        description = description[step]
    if random.random() < 0.2 and isinstance(description, dict):
        del description[key]
    else:
        description[key] = spoil_value(description[key], random)


def forge(tensors, description, random):
    """Change one or two things, and compute the checksum anew."""
    tensors, description = dict(tensors), copy.deepcopy(description)
    for _ in range(int(random.integers(1, 3))):
        if tensors and random.random() < 0.4:
            name = sorted(tensors)[random.integers(len(tensors))]
            other = sorted(tensors)[random.integers(len(tensors))]
            how = random.random()
            if how < 0.1:
                del tensors[name]
            elif how < 0.2:
                tensors[name] = tensors[other]
            else:
                tensors[name] = spoil_tensor(tensors[name], random)
            continue
        places = list(list_places(description))[1:]
        spoil_entry(description, places[random.integers(len(places))], random)
    return join_parts(tensors, description)


def forge_notes(tensors, description, random):
    """Change one thing in what a file notes of its fit, and compute the checksum anew."""
    description = copy.deepcopy(description)
    places = list(list_places(description["info"]))[1:]
    # Each note as often as the others: some are long lists.
    notes = sorted({place[0] for place in places})
    note = notes[random.integers(len(notes))]
    places = [place for place in places if place[0] == note]
    spoil_entry(description["info"], places[random.integers(len(places))], random)
    return join_parts(tensors, description)


def craft_by_hand(tensors, description):
    """Yield a name and a file for each attack that once worked, where the kind allows it."""

    def change(name, edit):
        own, text = dict(tensors), copy.deepcopy(description)
        try:
            edit(own, text)
        except (KeyError, TypeError, IndexError):
            return
        yield name, join_parts(own, text)

    for name, edit in HAND_MADE.items():
        yield from change(name, edit)
    if "tree_children_" in tensors:
        for name, edit in OF_TREES.items():
            yield from change(name, edit)


def set_entry(tensor, place, value):
    tensor = tensor.clone()
    tensor[place] = value
    return tensor


def put(keys, value):
    """Make an edit that puts a value under a path of keys that is there already."""

    def edit(tensors, description):
        inside = description
        for key in keys[:-1]:
            inside = inside[key]
        inside[keys[-1]] = value

    return edit


def cast_all(kind):
    return lambda t, d: t.update({name: tensor.to(kind) for name, tensor in t.items()})


def drop_key(key):
    return lambda t, d: d.pop(key)


def spoil_floats(value):
    def edit(tensors, description):
        for name, tensor in tensors.items():
            if tensor.is_floating_point() and not name.startswith("rows."):
                tensors[name] = torch.full_like(tensor, value)

    return edit


def nest(n):
    value = []
    for _ in range(n):
        value = [value]
    return value


NET_OF = ("learned", "net_")
HAND_MADE = {
    "a network of gigabytes": put(("params", "net"), [30000, 30000]),
    # Where there are layers: each such file takes seconds to write and to show.
    "a million layers": lambda t, d: d["params"].update(
        net=[1] * 1_000_000 if d["params"]["net"] == [6] and t["classes_"].ndim else {}[0]
    ),
    "a billion members": put((*NET_OF, "n_members"), 10**9),
    "members without a number": put((*NET_OF, "n_members"), float("inf")),
    "nets without end": put((*NET_OF, "nets"), [[30000, 30000]] * 1000),
    "weights that are NaN": put((*NET_OF, "weights"), [float("nan")]),
    "mirrored by text": put((*NET_OF, "is_mirrored"), "yes"),
    "format Infinity": put(("format",), float("inf")),
    "format of text": put(("format",), "1"),
    "format below the first": put(("format",), -1),
    "a newer format": put(("format",), 10**30),
    "no version": drop_key("version"),
    "no format": drop_key("format"),
    "version is a number": put(("version",), 3),
    "info is a list": put(("info",), [1, 2]),
    "info is a number": put(("info",), 1),
    "info of markup": put(("info",), {"assessment": "[/red]\x1b[2J", "[bold": "[/]"}),
    "assessment of nothing": put(("info",), {"assessment": {}}),
    "assessment of text": put(
        ("info",),
        {
            "assessment": {"rows": "[/b]", "positives": "\x1b[2J", "pu_auc": {}, "prior": {}},
            "thresholds": 3,
            "seed": "\x1b[2J",
            "fingerprint": 1,
        },
    ),
    "reading is a list": put(("info",), {"reading": [1], "thresholds": [2], "id": 3}),
    "nested without end": put(("info",), {"a": nest(900)}),
    "class of markup": put(("class",), "[/red]\x1b[31m"),
    "version of markup": put(("version",), "[/red]\x1b[31m\x07"),
    "class is a part": put(("class",), "RandomMiner"),
    "rows without end": put(("row_shape",), [10**12]),
    "rows of nothing": put(("row_shape",), [0]),
    "rows of less than nothing": put(("row_shape",), [-4]),
    "rows without a shape": put(("row_shape",), []),
    "rows of many dimensions": put(("row_shape",), [1] * 100),
    "rows of text": put(("row_shape",), ["a"]),
    "rows of objects": put(("row_dtype",), "object"),
    "rows of another type": put(("row_dtype",), "float64"),
    "rows of dates": put(("row_dtype",), ["a"]),
    "bfloat16": cast_all(torch.bfloat16),
    "float8": cast_all(torch.float8_e4m3fn),
    "complex": cast_all(torch.complex64),
    "all NaN": spoil_floats(float("nan")),
    "all infinite": spoil_floats(float("inf")),
    "all huge": spoil_floats(1e38),
    "all zero": spoil_floats(0.0),
    "one label": lambda t, d: t.update(classes_=torch.tensor([1])),
    "three labels": lambda t, d: t.update(classes_=torch.tensor([0, 1, 2])),
    "equal labels": lambda t, d: t.update(classes_=torch.tensor([1, 1])),
    "labels are NaN": lambda t, d: t.update(classes_=torch.tensor([0.0, float("nan")])),
    "labels of lists": lambda t, d: (
        t.pop("classes_", None),
        d["learned"].update(classes_={"array": [[1], [2]], "dtype": "object"}),
    ),
    "labels of parts": lambda t, d: (
        t.pop("classes_", None),
        d["learned"].update(
            classes_={"array": [{"part": "RandomMiner", "params": {}}, 1], "dtype": "object"}
        ),
    ),
    "text that numpy blows up": lambda t, d: (
        t.pop("classes_", None),
        d["learned"].update(classes_={"array": ["a" * 100_000, *["b"] * 5000], "dtype": "str"}),
    ),
    "names that numpy blows up": lambda t, d: d["learned"].update(
        feature_names_in_={"array": ["a" * 100_000, *["b"] * 5000], "dtype": "str"}
    ),
    "threshold is NaN": put(("learned", "threshold_"), float("nan")),
    "threshold is text": put(("learned", "threshold_"), "0"),
    "threshold is huge": put(("learned", "threshold_"), 10**400),
    "width of nothing": put(("learned", "width_"), 0.0),
    "width that vanishes": put(("learned", "width_"), 1e-300),
    "a checkpoint to write to": lambda t, d: d["params"].update(checkpoint="/tmp/overwritten"),
    "workers without end": lambda t, d: d["params"].update(n_jobs=10**9),
    "a table that is a list": put(("table",), [1]),
    "a table of nothing": put(("table",), {}),
    "a report of markup": lambda t, d: d["table"]["learned"].update(
        report_=[{"column": "[/b]\x1b[2J", "kind": "[/]", "used": True, "note": "\x1b]0;x\x07"}]
    ),
    "a report of numbers": lambda t, d: d["table"]["learned"].update(report_=[1]),
    "a column that is not there": lambda t, d: d["table"]["learned"]["plan_"][0].update(place=99),
    "a column without a scale": lambda t, d: d["table"]["learned"]["plan_"][0].update(scale=0.0),
    "a plan of another kind": lambda t, d: d["table"]["learned"]["plan_"][0].update(kind="text"),
    "a plan with more features": lambda t, d: d["table"]["learned"]["plan_"][0].update(
        endings=["", "a", "b"]
    ),
    "a scale of nothing": lambda t, d: t.update(column_scale_=torch.zeros_like(t["column_scale_"])),
    "portfolios in portfolios": lambda t, d: d["learned"]["members_"].update(
        {"x": copy.deepcopy(d)}
    ),
    "a member of gigabytes": lambda t, d: d["learned"]["members_"].update(
        {name: one | {"row_shape": [10**9]} for name, one in d["learned"]["members_"].items()}
    ),
}
OF_TREES = {
    "a cycle": lambda t, d: t.update(
        tree_children_=set_entry(t["tree_children_"], 1, torch.tensor([0, 0]))
    ),
    "a node that leads to itself": lambda t, d: t.update(
        tree_children_=set_entry(t["tree_children_"], 0, torch.tensor([0, 2]))
    ),
    "a child beyond the last": lambda t, d: t.update(
        tree_children_=set_entry(t["tree_children_"], 0, torch.tensor([1, 2**31 - 1]))
    ),
    "a child below the first": lambda t, d: t.update(
        tree_children_=set_entry(t["tree_children_"], 0, torch.tensor([-9, 2]))
    ),
    "a column beyond the last": lambda t, d: t.update(
        tree_feature_=torch.full_like(t["tree_feature_"], 10**6)
    ),
    "a column below the first": lambda t, d: t.update(
        tree_feature_=torch.full_like(t["tree_feature_"], -1)
    ),
    "no roots": lambda t, d: t.update(tree_roots_=t["tree_roots_"][:0]),
    "roots in disorder": lambda t, d: t.update(tree_roots_=t["tree_roots_"].flip(0)),
    "roots beyond the last": lambda t, d: t.update(
        tree_roots_=set_entry(t["tree_roots_"], -1, 10**8)
    ),
    "children of fractions": lambda t, d: t.update(tree_children_=t["tree_children_"] + 0.5),
    "no nodes": lambda t, d: t.update(
        {k: v[:0] for k, v in t.items() if k.startswith("tree_") and k != "tree_roots_"}
    ),
    "a tree of no leaves": lambda t, d: t.update(tree_value_=t["tree_value_"][:-1]),
    "former text": lambda t, d: (
        [t.pop(k) for k in list(t) if k.startswith("tree_")],
        d["learned"].update(model_text_="tree\nTree=0\nnum_leaves=2147483647\nend of trees\n"),
    ),
    "former text in a cycle": lambda t, d: (
        [t.pop(k) for k in list(t) if k.startswith("tree_")],
        d["learned"].update(
            model_text_="Tree=0\nnum_leaves=2\nsplit_feature=0\nthreshold=1\ndecision_type=2\n"
            "left_child=0\nright_child=0\nleaf_value=1 2\n\nend of trees\n"
        ),
    ),
}
