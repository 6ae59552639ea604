"""Verdicts on the claims of the paper follow from the records, by the rule that is stated."""

import json

import numpy as np
import pytest

from mixpul.cli.report import report
from mixpul.paper import results
from mixpul.paper.results.evidence import (
    Evidence,
    compare_methods,
    compare_reductions,
    find_arrival,
    find_rise,
)
from mixpul.paper.results.gaps import measure_gap
from mixpul.paper.results.sections import Section
from mixpul.paper.targets import TARGETS

AUC, ERROR = results.MEASURES["auc"], results.MEASURES["error"]


def runs(target, dataset, method, scores, value=None, **more):
    """Finished trials of one cell, with seeds from 0 on."""
    target = TARGETS[target]
    value = target.values[0] if value is None else value
    return [
        {
            "id": f"{dataset}_{method}_{value}_{seed}",
            "target": target.name,
            "dataset": dataset,
            "method": method,
            "seed": seed,
            "settings": {target.setting: value},
            "recipe": "",
            "version": "0.1.0",
            "auc": score,
            "error": score,
            "labeled": 50,
            "prior": 0.3,
            "fit_seconds": 0.5,
            "seconds": 0.6,
            "finished": "2026-11-15T10:00:00+00:00",
            "made_with": {"python": "3.11.7"},
            **more,
        }
        for seed, score in enumerate(scores)
    ]


def judge(*records):
    """The claims by their text and settings."""
    sections = [
        Section(target, [r for r in records if r["target"] == name])
        for name, target in TARGETS.items()
    ]
    return {(c.text, c.settings): c for c in results.judge_claims(sections)}


def mine(rand, dist, ntc, suffix=""):
    return [
        record
        for value in TARGETS["rn-mining"].values
        for method, scores in (("Rand", rand), ("Dist", dist), ("NTC", ntc))
        for record in runs("rn-mining", "titanic", method + suffix, scores, value)
    ]


def watch(method, curve, target="margin-ablation", dataset="krvskp", n=3):
    """Trainings with the same curve, each a little higher than the one before."""
    return [
        record | {"warmup": 0.25, "error": errors[-1], "curve": {
            "step": list(range(10, 10 * len(curve) + 1, 10)), "error": errors}}
        for seed in range(n)
        for errors in [[error + 0.001 * seed for error in curve]]
        for record in [runs(target, dataset, method, [0.0] * n)[seed]]
    ]  # fmt: skip


# -- gaps -----------------------------------------------------------------------------------


def test_variances_of_data_sets_add_up():
    # Differences 1, 3 and 0, 0, 6: means 2 and 2, variances of the means 1 and 4.
    gap = measure_gap({"a": [(1, 0), (3, 0)], "b": [(0, 0), (0, 0), (6, 0)]})
    assert gap.mean == 2
    assert gap.error == pytest.approx((1 + 4) ** 0.5 / 2)
    # Welch and Satterthwaite: (1 + 4)² / (1² / 1 + 4² / 2).
    assert gap.freedom == pytest.approx(25 / 9)


def test_a_gap_is_clear_beyond_the_quantile_of_student():
    pairs = [(x, 0.0) for x in np.array([-1.0, 0.0, 1.0])]
    error = 1 / 3**0.5
    for shift, is_clear in ((4.31 * error, True), (4.29 * error, False)):
        gap = measure_gap({"a": [(x + shift, y) for x, y in pairs]})
        assert gap.exceeds(0) is is_clear
        assert gap.exceeds(-0.1)
        assert not gap.falls_below(0)
        assert measure_gap({"a": [(y, x + shift) for x, y in pairs]}).falls_below(0) is is_clear


def test_one_run_is_never_clear():
    gap = measure_gap({"a": [(9.0, 0.0)], "b": [(9.0, 0.0), (9.0, 0.0)]})
    assert gap.mean == 9
    assert not gap.exceeds(0)
    assert not gap.falls_below(100)


# -- evidence -------------------------------------------------------------------------------


def test_a_run_counts_with_its_mean_over_the_settings_that_both_have():
    records = [
        *runs("rn-mining", "titanic", "Rand", [0.6, 0.7, 0.8], 5),
        *runs("rn-mining", "titanic", "Rand", [0.8, 0.9], 25),
        *runs("rn-mining", "titanic", "Dist", [0.5, 0.5, 0.5], 5),
        *runs("rn-mining", "titanic", "Dist", [0.7, 0.7, 0.7], 25),
        *runs("rn-mining", "titanic", "Dist", [0.1], 100),
    ]
    found = compare_methods(Section(TARGETS["rn-mining"], records), "Rand", "Dist")
    # The third seed has no run of Rand with 25 labeled; 100 labeled is Dist's alone.
    assert found.pairs == {"titanic": [pytest.approx((0.7, 0.6)), pytest.approx((0.8, 0.6))]}
    assert found.numbers == "Rand 0.750, Dist 0.600: +0.150 ± 0.050"
    assert found.amount == "titanic, 2 runs"


def test_less_error_is_better_and_shown_with_a_minus():
    evidence = Evidence("a", "b", {"x": [(0.1, 0.2), (0.1, 0.21), (0.1, 0.22)]}, ERROR)
    assert evidence.gap.mean == pytest.approx(0.11)
    assert evidence.speaks == 1
    assert evidence.numbers == "a 10.00 %, b 21.00 %: −11.00 ± 0.58"


def test_a_data_set_with_one_run_does_not_hide_the_others():
    pairs = {"x": [(0.7, 0.5), (0.7, 0.51)], "y": [(0.1, 0.9)]}
    evidence = Evidence("a", "b", pairs, AUC)
    assert evidence.speaks == 1
    assert evidence.numbers == "a 0.700, b 0.505: +0.195 ± 0.005"
    assert evidence.amount == "x, 2 runs"
    assert [one.amount for one in evidence.split()] == ["x, 2 runs", "y, 1 run"]


def test_a_bound_moves_what_is_for_and_what_against():
    pairs = {"x": [(0.70, 0.704), (0.70, 0.705), (0.70, 0.706)]}
    assert Evidence("a", "b", pairs, AUC).speaks == -1
    assert Evidence("a", "b", pairs, AUC, bound=-0.01).speaks == 1


def test_arrival_is_at_the_lowest_error_that_both_reach():
    first = {"curve": {"step": [1, 2, 3, 4], "error": [0.5, 0.2, 0.1, 0.1]}}
    second = {"curve": {"step": [1, 2, 3, 4], "error": [0.5, 0.4, 0.3, 0.2]}}
    assert find_arrival(first, second) == (0.5, 1.0)
    assert find_arrival(second, first) == (1.0, 0.5)


def test_a_rise_is_counted_from_where_interpolation_begins():
    record = {"warmup": 0.25, "curve": {"error": [0.9, 0.3, 0.2, 0.6, 0.1]}}
    assert find_rise(record) == pytest.approx(0.3)
    assert find_rise({"warmup": 0.25, "curve": {"error": [0.9, 0.5, 0.4, 0.3, 0.2]}}) == 0


def test_reductions_are_shares_of_the_error_without_the_term():
    section = Section(
        TARGETS["mixup-ablation"],
        [
            *runs("mixup-ablation", "mnist-0v6", "with L_U and L_PU", [0.01, 0.01]),
            *runs("mixup-ablation", "mnist-0v6", "without L_U", [0.02, 0.02]),
            *runs("mixup-ablation", "krvskp", "with L_U and L_PU", [0.18, 0.16]),
            *runs("mixup-ablation", "krvskp", "without L_U", [0.20, 0.20]),
        ],
    )
    names = ("on images", "on tables")
    found = compare_reductions(section, "with L_U and L_PU", "without L_U", ["mnist-0v6"], names)
    assert found.pairs == {
        "mnist-0v6 against krvskp": [pytest.approx((0.5, 0.1)), pytest.approx((0.5, 0.2))]
    }


# -- verdicts -------------------------------------------------------------------------------

RANDOM = "Random mining of negatives works best"


@pytest.mark.parametrize(
    ("dist", "ntc", "verdict"),
    [
        ([0.6, 0.61, 0.62], [0.65, 0.66, 0.67], "holds here"),
        ([0.6, 0.61, 0.62], [0.75, 0.69, 0.66], "undecided"),
        ([0.6, 0.61, 0.62], [0.75, 0.76, 0.77], "does not hold here"),
        ([0.6], [0.6], "undecided"),
        ([0.6, 0.61, 0.62], [], "not run"),
    ],
)
def test_all_must_speak_for_it_and_one_against_is_enough(dist, ntc, verdict):
    claims = judge(*mine([0.7, 0.71, 0.72], dist, ntc, " as published"))
    assert claims[RANDOM, "published settings"].verdict == verdict
    assert claims[RANDOM, "our settings"].verdict == "not run"


def test_without_results_every_claim_is_not_run():
    claims = judge()
    assert {claim.verdict for claim in claims.values()} == {"not run"}
    assert not any(claim.shown for claim in claims.values())


def test_trials_cut_short_are_shown_and_decide_nothing():
    settings = {"n_positive": 500, "subset": 2000, "epochs": 3}
    short = [
        record
        for method, scores in (("MixPUL as published", [0.30, 0.31]), ("nnPU", [0.40, 0.41]))
        for record in runs("cifar10", "cifar10", method, scores, 500, settings=settings)
    ]
    # Cut short in another way: nothing to compare with.
    other = runs("cifar10", "cifar10", "uPU", [0.2], 500, settings=settings | {"epochs": 1})
    claim = judge(*short, *other)["MixPUL errs less than nnPU on CIFAR-10", "published settings"]
    assert claim.verdict == "not run"
    (only,) = claim.shown
    assert (only.numbers, only.amount) == (
        "MixPUL 30.50 %, nnPU 40.50 %: −10.00 ± 0.00",
        "cifar10, cut short, 2 runs",
    )


def test_comparable_is_good_enough_where_no_prior_is_needed():
    def told(mixpul, rival):
        return judge(
            *(
                record
                for method, scores in (("MixPUL", mixpul), ("uPU", rival), ("nnPU", rival))
                for record in runs("uci", "titanic", method, scores)
            )
        )["No class prior is needed", "our settings"].verdict

    assert told([0.700, 0.710, 0.720], [0.705, 0.715, 0.726]) == "holds here"
    assert told([0.700, 0.710, 0.720], [0.715, 0.725, 0.736]) == "does not hold here"
    # Data sets that the paper does not have do not decide on its claim.
    ours = [r | {"dataset": "texture"} for r in runs("uci", "x", "MixPUL", [0.1, 0.1])]
    assert judge(*ours)["No class prior is needed", "our settings"].verdict == "not run"


def test_estimates_are_held_against_the_true_prior():
    true = runs("prior-error", "titanic", "nnPU", [0.8, 0.81, 0.82])
    bad = runs("prior-error", "titanic", "nnPU, tice prior", [0.6, 0.61, 0.62])
    fine = runs("prior-error", "titanic", "nnPU, bbe prior by Auto", [0.8, 0.81, 0.82])
    key = ("Estimated class priors cost nnPU much", "our settings")
    claim = judge(*true, *bad, *fine)[key]
    assert claim.verdict == "holds here"
    assert [one.second for one in claim.shown] == [
        "mean of estimates",
        "tice",
        "bbe on Auto's scores",
    ]
    near = runs("prior-error", "titanic", "nnPU, tice prior", [0.79, 0.80, 0.81])
    assert judge(*true, *near)[key].verdict == "does not hold here"


def test_the_class_prior_falls_as_more_zeros_are_labeled():
    def follow(last):
        records = [
            record
            for value, error in ((1200, 0.02), (2400, 0.02), (3600, last))
            for record in runs("mnist", "mnist-0v1", "MixPUL", [error, error + 0.001], value)
        ]
        return judge(*records)["MixPUL is insensitive to the class prior", "our settings"].verdict

    assert follow(0.02) == "holds here"
    assert follow(0.03) == "does not hold here"


def test_images_and_tables_are_told_apart():
    def compare(image, table):
        return judge(
            *runs("mixup-ablation", "mnist-0v6", "with L_U and L_PU", image),
            *runs("mixup-ablation", "mnist-0v6", "without L_U", [0.1, 0.1, 0.1]),
            *runs("mixup-ablation", "krvskp", "with L_U and L_PU", table),
            *runs("mixup-ablation", "krvskp", "without L_U", [0.2, 0.2, 0.2]),
        )["Mixup helps more on images than on other data", "published settings"].verdict

    assert compare([0.05, 0.051, 0.052], [0.2, 0.2, 0.2]) == "holds here"
    # Half of the error on both: the levels alone are no reason.
    assert compare([0.05, 0.051, 0.049], [0.1, 0.099, 0.101]) == "undecided"
    assert compare([0.1, 0.1, 0.1], [0.1, 0.101, 0.102]) == "does not hold here"


def test_convergence_and_steadiness_are_read_from_curves():
    faster = watch("with L_U and L_PU", [0.5, 0.2, 0.4, 0.4, 0.2])
    slower = watch("without L_PU", [0.5, 0.5, 0.4, 0.3, 0.2])
    claims = judge(*faster, *slower)
    texts = ("converge faster", "steadier when mixup begins")
    fast, steady = (
        claims[f"The margin loss makes training {text}", "published settings"] for text in texts
    )
    assert fast.verdict == "holds here"
    assert fast.shown[0].numbers.startswith(
        "reached with L_PU after 40.0 %, without L_PU after 100"
    )
    assert steady.verdict == "does not hold here"


def test_markdown_says_it_before_the_tables(tmp_path):
    records = mine([0.7, 0.71, 0.72], [0.6, 0.61, 0.62], [0.65, 0.66, 0.67])
    (tmp_path / "rn-mining.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    text = results.render_paper_markdown(tmp_path)
    row = next(line for line in text.splitlines() if "for: **Rand 0.710, Dist 0.610" in line)
    assert "| our settings | **holds here** | for: **Rand 0.710, Dist 0.610: +0.100" in row
    assert text.index("| claim of the paper |") < text.index("## How to read the tables")
    assert text.count("| **not run** |") == 14


def test_the_command_counts_verdicts(tmp_path, capsys):
    records = mine([0.7, 0.71, 0.72], [0.6, 0.61, 0.62], [0.65, 0.66, 0.67])
    (tmp_path / "rn-mining.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    report(tmp_path, tmp_path / "page.html")
    said = capsys.readouterr().out
    assert "1 hold here, 0 do not, 0 undecided, 14 not run." in said
    assert (tmp_path / "page.html").exists()
