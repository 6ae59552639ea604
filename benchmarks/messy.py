"""Tables as people have them: what is lost against columns cleaned by hand?

    python benchmarks/messy.py [--data FOLDER] [--seeds 5] [--first 1000] [--show]

Two real tables (attr and credit, in the folder `messy` of the data), and three that are made here
by writing known columns the way people do: `shop` has spambase's numbers as money, percent, units
and with words for gaps; `survey` has krvskp's answers as yes and no in seven languages; `claims`
is drawn, with amounts, dates, lengths of time, hundreds of places and a remark in free text.

Each table goes through a CSV file and `TableInput()` as it comes. Beside it stand the columns as
somebody cleaned them by hand, through the same `TableInput()`. 60 positives of seven tenths of the
rows are labeled at random, and the AUC counts on the others. Results are in
benchmarks/results/messy.jsonl; a run that was stopped goes on where it stopped.

Other benchmarks take tables from here, too.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    LogisticPUClassifier,
    __version__,
    datasets,
)
from mixpul.tables import TableInput, read_table

BUNDLED = ("krvskp", "titanic", "spambase")
MESSY = ("attr", "credit")
# splice has 287 columns, each of which would be shuffled.
DEVELOPMENT = (
    "banana", "contraceptive", "german", "letter", "mammographic", "segment", "tic-tac-toe",
    "vehicle", "vowel", "yeast1",
)  # fmt: skip
# How the messy files are written, and the column that names their rows.
READING = {
    "attr": ({}, "EmployeeNumber"),
    "credit": ({"delimiter": ";", "decimal": ",", "encoding": "latin-1"}, "Kunde"),
}
MOST_ROWS = 5000

RESULTS = Path(__file__).parent / "results" / "messy.jsonl"
METHODS: dict[str, Any] = {
    "logistic": LogisticPUClassifier(),
    "bagging": BaggingPUClassifier(),
    "auto": AutoPUClassifier(),
}
N_LABELED, TEST_SHARE = 60, 0.3
ALLOWED = 0.005  # what reading a table may cost, in AUC

Pair = tuple[pd.DataFrame, pd.DataFrame, np.ndarray]


@cache
def load_table(name: str, folder: Path | None) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns and the truth (bool) of a table; `folder` has `messy` and `dev` in it."""
    if name in BUNDLED:
        data = datasets.load(name)
        return pd.DataFrame(data.X, columns=data.feature_names), data.y == 1
    if folder is None:
        raise SystemExit(f"{name} is not bundled; say where it is with --data FOLDER.")
    if name in READING:
        style, row_name = READING[name]
        table = read_table(folder / "messy" / f"{name}.csv.gz", **style)
        truth = table.pop("truth").to_numpy() == 1
        return table.drop(columns=row_name), truth
    with np.load(folder / "dev" / f"{name}.npz", allow_pickle=False) as data:
        X, truth = data["X"], data["y"] == 1
    # Every so many rows of a large table.
    step = -(-len(X) // MOST_ROWS)
    names = [f"column {k}" for k in range(X.shape[1])]
    return pd.DataFrame(X[::step], columns=names), truth[::step]


def label_some(
    truth: np.ndarray, n_labeled: int, random: np.random.Generator, weight: np.ndarray | None = None
) -> np.ndarray:
    """Label positives, at random or with a chance proportional to `weight`."""
    chance = truth.astype(float) if weight is None else truth * weight
    is_labeled = np.zeros(len(truth), dtype=bool)
    chosen = random.choice(len(truth), n_labeled, replace=False, p=chance / chance.sum())
    is_labeled[chosen] = True
    return is_labeled


# -- as they come, and cleaned by hand --------------------------------------------------------


@cache
def load_pair(name: str, folder: Path | None) -> Pair:
    """Return a table as it comes, its columns cleaned by hand, and the truth (bool)."""
    if name in READING:
        return _load_real(name, folder)
    messy, clean, truth = MADE[name](np.random.default_rng(1000))
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / f"{name}.csv"
        messy.to_csv(path, index=False)
        return read_table(path), clean, truth


def _load_real(name: str, folder: Path | None) -> Pair:
    if folder is None:
        raise SystemExit(f"{name} is not bundled; say where it is with --data FOLDER.")
    style, row_name = READING[name]
    path = folder / "messy" / f"{name}.csv.gz"
    # As somebody would who knows the encoding and nothing else.
    messy = read_table(path, encoding=style.get("encoding", "utf-8"))
    truth = messy.pop("truth").to_numpy() == 1
    clean = read_table(path, **style).drop(columns=["truth", row_name])
    if name == "credit":
        clean["Eröffnet"] = pd.to_datetime(clean["Eröffnet"], format="%d.%m.%Y")
    return messy, clean, truth


def write_numbers(values: np.ndarray, form: str) -> list[str]:
    """Write numbers as people do."""
    forms: dict[str, Callable[[float], str]] = {
        "dollars": lambda v: f"(${-v:,.2f})" if v < 0 else f"${v:,.2f}",
        "euros": lambda v: f"{v:,.2f} €".translate(str.maketrans(",.", ".,")),
        "percent": lambda v: f"{v:.2f}%",
        "commas": lambda v: f"{v:.3f}".replace(".", ","),
        "weight": lambda v: f"{v:.3f} kg" if v >= 1 else f"{1000 * v:.0f} g",
        "spaces": lambda v: f"{v:,.0f}".replace(",", "\u202f"),
        "minutes": lambda v: f"{int(v) // 60}h {int(v) % 60}m",
        "clock": lambda v: f"{int(v) // 60}:{int(v) % 60:02d}:00",
    }
    return [forms[form](value) for value in values]


def make_shop(random: np.random.Generator) -> Pair:
    """Write the numbers of spambase as money, percent, weights, and with words for gaps."""
    data = datasets.load("spambase")
    clean = pd.DataFrame(data.X.astype(float), columns=data.feature_names)
    messy: dict[str, Any] = {"order_id": [f"ORD-{k:06d}" for k in random.permutation(len(clean))]}
    forms = ("dollars", "percent", "commas", "euros", "weight")
    rounded = (2, 2, 3, 2, 3)
    for k, name in enumerate(clean.columns):
        which = k % (len(forms) + 1)
        if which == len(forms):
            messy[name] = clean[name]
            continue
        clean[name] = clean[name].round(rounded[which])
        cells = pd.Series(write_numbers(clean[name].to_numpy(), forms[which]), dtype=object)
        # One cell in twenty is not known, and different people have written that.
        is_gap = random.random(len(cells)) < 0.05
        cells[is_gap] = random.choice(["unknown", "-", "k.A.", "?"], is_gap.sum())
        clean.loc[is_gap, name] = np.nan
        messy[name] = cells
    return pd.DataFrame(messy), clean, data.y == 1


def make_survey(random: np.random.Generator) -> Pair:
    """Write the answers of krvskp as yes and no in several languages."""
    data = datasets.load("krvskp")
    clean = pd.DataFrame(data.X, columns=data.feature_names)
    words = [
        ("yes", "no"), ("Ja", "Nein"), ("oui", "non"), ("TRUE", "FALSE"), ("Y", "N"), ("sí", "no"),
        ("on", "off"), ("t", "f"),
    ]  # fmt: skip
    messy = {}
    for k, name in enumerate(clean.columns):
        values = np.unique(clean[name])
        column = clean[name].astype(object)
        if len(values) == 2:
            yes, no = words[k % len(words)]
            column = column.map({values[0]: no, values[1]: yes})
        is_gap = random.random(len(column)) < 0.02
        messy[name] = column.where(~is_gap, "unknown" if len(values) == 2 else "")
        if len(values) == 2:
            clean[name] = clean[name].astype(float).where(~is_gap)
        else:
            clean[name] = clean[name].astype(str).where(~is_gap, None)
    return pd.DataFrame(messy), clean, data.y == 1


PLACES = [a + b for a in ("Spring", "North", "Oak", "Mill", "Stone", "Ash", "Wood", "King", "High",
          "Long", "Red", "Green", "Fair", "Black") for b in ("field", "ham", "ton", "bury", "wick",
          "dale", "port", "mouth", "ford", "ville", "by", "cliff", "moor", "haven")]  # fmt: skip
COAST = ("port", "mouth", "haven", "cliff")
REMARK = "customer called about the claim and sent photos of car after accident on main road"
NEUTRAL = REMARK.split()
TELLING = ("stolen", "urgent", "cash", "witness", "lawyer")


def make_claims(random: np.random.Generator, n_rows: int = 3000) -> Pair:
    """Draw claims whose truth depends on amount, date, length, place and the words of a remark."""
    amount = random.lognormal(7, 1, n_rows)
    days = random.integers(0, 2000, n_rows)
    minutes = random.gamma(2, 60, n_rows).round()
    share = random.uniform(0, 40, n_rows)
    member = random.random(n_rows) < 0.4
    # Few rows each: categories of which no one is frequent.
    place = random.choice(PLACES, n_rows)
    is_coast = np.array([one.endswith(COAST) for one in place])
    has_word = random.random((n_rows, len(TELLING))) < 0.15
    logit = (
        1.2 * (np.log(amount) - 7) + 0.001 * (days - 1000) - 0.008 * (minutes - 120) - 0.7 * member
        + 1.5 * is_coast + has_word @ np.array([1.5, 1.0, 1.2, -1.2, 1.0]) + 0.03 * (share - 20) - 2
    )  # fmt: skip
    truth = random.random(n_rows) < 1 / (1 + np.exp(-logit))
    remarks = []
    for row in has_word:
        words = [
            *random.choice(NEUTRAL, 8),
            *(w for w, own in zip(TELLING, row, strict=True) if own),
        ]
        remarks.append(" ".join(random.permutation(words)))
    dates = pd.Timestamp("2018-01-01") + pd.to_timedelta(days, "D")
    # Whoever cleans by hand does not know yet which words tell.
    said = [set(remark.split()) for remark in remarks]
    clean = pd.DataFrame(
        {"amount": amount.round(2), "opened": dates, "talk": minutes, "share": share.round(2),
         "member": member, "place": pd.Categorical(place)}
        | {word: [word in own for own in said] for word in (*NEUTRAL, *TELLING)}
    )  # fmt: skip
    messy = pd.DataFrame(
        {"claim": [f"C{k:07d}" for k in random.permutation(n_rows)],
         "amount": write_numbers(amount, "euros"), "opened": dates.strftime("%d/%m/%Y"),
         "talk": write_numbers(minutes, "minutes"), "share": write_numbers(share, "percent"),
         "member": np.where(member, "ja", "nein"), "place": place, "remark": remarks,
         "currency": "EUR"}
    )  # fmt: skip
    return messy, clean, truth


MADE = {"shop": make_shop, "survey": make_survey, "claims": make_claims}


def perform(name: str, method: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Fit a method to a table as it comes, and to its columns as cleaned by hand."""
    messy, clean, truth = load_pair(name, folder)
    random = np.random.default_rng([seed, len(truth)])
    is_test = random.random(len(truth)) < TEST_SHARE
    is_labeled = label_some(truth & ~is_test, N_LABELED, random)
    found: dict[str, Any] = {"table": name, "method": method, "seed": seed}
    for kind, frame in (("messy", messy), ("clean", clean)):
        model = make_pipeline(TableInput(), METHODS[method].set_params(random_state=seed))
        model.fit(frame[~is_test], is_labeled[~is_test])
        scores = model.decision_function(frame[is_test])
        found[kind] = float(roc_auc_score(truth[is_test], scores))
    return found | {"mixpul": __version__}


def list_columns(name: str, folder: Path | None) -> list[dict[str, Any]]:
    """Return what became of the columns of a table as it comes."""
    messy, _, _ = load_pair(name, folder)
    return TableInput().fit(messy).report_


def write_report(done: list[dict[str, Any]]) -> str:
    """Return the mean AUC on tables as they come and as cleaned by hand, and what that costs."""
    frame = pd.DataFrame(done)
    lines = [
        "| table | method | seeds | as it comes | cleaned by hand | difference |",
        "|---|---|---|---|---|---|",
    ]
    worst = np.inf
    for (table, method), own in frame.groupby(["table", "method"], sort=False):
        difference = (own["messy"] - own["clean"]).mean()
        worst = min(worst, difference)
        lines.append(
            f"| {table} | {method} | {len(own)} | {own['messy'].mean():.3f} | "
            f"{own['clean'].mean():.3f} | {difference:+.3f} |"
        )
    verdict = "within" if worst >= -ALLOWED else "not within"
    lines += ["", f"The worst difference is {worst:+.4f}: {verdict} {ALLOWED} of cleaning by hand."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="What reading a table as it comes costs.")
    parser.add_argument("--data", type=Path, help="folder with the messy tables")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--methods", default="logistic,bagging", help="some of the methods")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="show what is there, and run nothing")
    arguments = parser.parse_args()
    path, folder = arguments.results, arguments.data
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    keys = {(one["table"], one["method"], one["seed"]) for one in done}
    tables = [*(MESSY if folder is not None else ()), *MADE]
    seeds = () if arguments.show else range(arguments.first, arguments.first + arguments.seeds)
    for name in tables if seeds else ():
        for entry in list_columns(name, folder):
            print(
                name, entry["column"], "" if entry["used"] else "LEFT OUT", entry["note"], sep="  "
            )
    for seed in seeds:
        for name in tables:
            for method in arguments.methods.split(","):
                if (name, method, seed) not in keys:
                    done.append(perform(name, method, seed, folder))
                    with path.open("a") as file:
                        print(json.dumps(done[-1]), file=file)
    print(write_report(done))


if __name__ == "__main__":
    main()
