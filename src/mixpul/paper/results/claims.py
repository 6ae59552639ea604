"""What the paper claims, and whether it is so in our results.

A claim rests on comparisons (`Evidence`). One of them speaks for or against the claim if a paired
t-test at 5 % calls its difference clear. The claim holds here if all comparisons that decide speak
for it, and does not if one speaks against it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mixpul.datasets import BUNDLED
from mixpul.paper.names import (
    AS_PUBLISHED,
    CIFAR10,
    CIFAR10_CPU,
    DIST,
    ERROR,
    ETHN,
    MARGIN_ABLATION,
    MIXPUL,
    MIXPUL_AS_PUBLISHED,
    MIXUP_ABLATION,
    MNIST,
    NNPU,
    NNPU_WITH,
    NNPU_WITH_AUTO,
    NTC,
    PRIOR_ERROR,
    RAMP,
    RAND,
    RN_MINING,
    UCI,
    UPU,
    WITH_ALL_TERMS,
    WITHOUT_L_PU,
    WITHOUT_L_U,
    find_source,
)
from mixpul.paper.results.evidence import (
    Evidence,
    compare_methods,
    compare_reductions,
    compare_runs,
    compare_shortened,
    compare_values,
    find_arrival,
    find_rise,
)
from mixpul.paper.results.sections import Section

__all__ = [
    "COMPARABLE_AUC",
    "COMPARABLE_ERROR",
    "SEVERE_AUC",
    "SPEAKS",
    "Claim",
    "Verdict",
    "count_verdicts",
    "judge_claims",
]

Verdict = Literal["holds here", "does not hold here", "undecided", "not run"]
Sections = Mapping[str, Section]  # by the name of the target

# "Comparable" is at most this much worse; "severe" is at least this much worse.
COMPARABLE_AUC = 0.01
COMPARABLE_ERROR = 0.001
SEVERE_AUC = 0.05

# What the numbers of a comparison say about a claim.
SPEAKS = {1: "for", 0: "unclear", -1: "against"}

_PUBLISHED, _OURS = "published settings", "our settings"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper in our results.

    Attributes
    ----------
    text : str
        What the paper says, in short.
    place : str
        Where it says so.
    settings : str
        Whose settings our runs have.
    test : str
        What has to be true for the claim to hold.
    evidence : list of Evidence
        Those that decide come first.
    target : str
        Where the results are.
    """

    text: str
    place: str
    settings: str
    test: str
    evidence: Sequence[Evidence]
    target: str

    @property
    def verdict(self) -> Verdict:
        """Whether the claim holds in our results."""
        deciding = [one for one in self.evidence if one.decides]
        if not all(one.is_measured for one in deciding):
            return "not run"
        spoken = [one.speaks for one in deciding]
        if min(spoken) < 0:
            return "does not hold here"
        return "holds here" if min(spoken) > 0 else "undecided"

    @property
    def shown(self) -> list[Evidence]:
        """What was measured of it."""
        return [one for one in self.evidence if one.is_measured]


def judge_claims(sections: Sequence[Section]) -> list[Claim]:
    """Hold each claim of the paper against the results."""
    by_name = {section.target.name: section for section in sections}
    return [claim for judge in _CLAIMS for claim in judge(by_name)]


def count_verdicts(claims: Sequence[Claim]) -> str:
    """Write how many claims have each verdict; one that is tested with two settings counts twice.

    Examples
    --------
    >>> from mixpul.paper.results import Claim, Evidence, MEASURES, count_verdicts
    >>> evidence = Evidence("Rand", "Dist", {"titanic": [(0.7, 0.6), (0.7, 0.61)]}, MEASURES["auc"])
    >>> count_verdicts([Claim("Rand works best", "", "", "", [evidence], "rn-mining")])
    '1 hold here, 0 do not, 0 undecided, 0 not run'
    """
    counts = Counter(claim.verdict for claim in claims)
    return (
        f"{counts['holds here']} hold here, {counts['does not hold here']} do not, "
        f"{counts['undecided']} undecided, {counts['not run']} not run"
    )


def _judge_mining(sections: Sections) -> list[Claim]:
    return [
        Claim(
            "Random mining of negatives works best",
            "introduction; table of negative mining",
            settings,
            "Rand has a higher AUC than Dist and than NTC",
            [
                compare_methods(
                    sections[RN_MINING], RAND + suffix, rival + suffix, names=(RAND, rival)
                )
                for rival in (DIST, NTC)
            ],
            RN_MINING,
        )
        for settings, suffix in ((_PUBLISHED, AS_PUBLISHED), (_OURS, ""))
    ]


def _judge_mixup(sections: Sections) -> list[Claim]:
    section = sections[MIXUP_ABLATION]
    names = ("with L_U", "without L_U")
    lower = compare_methods(section, WITH_ALL_TERMS, WITHOUT_L_U, names=names)
    images = [
        name for name in section.target.all_datasets if name == ETHN or find_source(name) == MNIST
    ]
    return [
        Claim(
            "Mixing unlabeled rows lowers the error",
            "ablation studies, left figure",
            _PUBLISHED,
            "the error is lower with L_U than without it, on average over data sets",
            [lower, *lower.split()],
            MIXUP_ABLATION,
        ),
        Claim(
            "Mixup helps more on images than on other data",
            "end of the ablation studies",
            _PUBLISHED,
            "L_U takes away a larger share of the error on images than on tables",
            [
                compare_reductions(
                    section, WITH_ALL_TERMS, WITHOUT_L_U, images, ("on images", "on tables")
                )
            ],
            MIXUP_ABLATION,
        ),
    ]


def _judge_margin(sections: Sections) -> list[Claim]:
    section = sections[MARGIN_ABLATION]
    methods = (WITH_ALL_TERMS, WITHOUT_L_PU)
    names = ("reached with L_PU after", "without L_PU after")
    sooner = compare_runs(section, *methods, find_arrival, names, is_time=True)
    steadier = compare_runs(
        section,
        *methods,
        lambda one, other: (find_rise(one), find_rise(other)),
        ("rise with L_PU", "without L_PU"),
    )
    last = compare_runs(
        section,
        *methods,
        lambda one, other: (one[ERROR], other[ERROR]),
        ("last error with L_PU", "without L_PU"),
        decides=False,
    )
    return [
        Claim(
            "The margin loss makes training converge faster",
            "abstract; ablation studies, right figure",
            _PUBLISHED,
            "the lowest error that both trainings reach is reached earlier with L_PU",
            [sooner, *sooner.split(), *last.split()],
            MARGIN_ABLATION,
        ),
        Claim(
            "The margin loss makes training steadier when mixup begins",
            "ablation studies, right figure",
            _PUBLISHED,
            "after that point the error rises less with L_PU",
            [steadier, *steadier.split()],
            MARGIN_ABLATION,
        ),
    ]


def _judge_need_of_prior(sections: Sections) -> list[Claim]:
    section = sections[UCI]
    return [
        Claim(
            "No class prior is needed",
            "abstract; results on UCI data sets",
            settings,
            f"the AUC is at most {COMPARABLE_AUC:g} below that of uPU and of nnPU, which are given "
            "the true prior; tables of the paper",
            [
                compare_methods(
                    section,
                    method,
                    rival,
                    (ETHN, *BUNDLED),
                    names=(MIXPUL, rival),
                    bound=-COMPARABLE_AUC,
                )
                for rival in (UPU, NNPU)
            ],
            UCI,
        )
        for settings, method in ((_PUBLISHED, MIXPUL_AS_PUBLISHED), (_OURS, MIXPUL))
    ]


def _judge_estimates(sections: Sections) -> list[Claim]:
    section = sections[PRIOR_ERROR]
    estimates = {name: prior for prior, name in NNPU_WITH.items()}
    estimates |= {name: f"{prior} on Auto's scores" for prior, name in NNPU_WITH_AUTO.items()}
    run = [name for name in NNPU_WITH.values() if any(m == name for _, m, _ in section.cells)]

    def compare(methods: Sequence[str], name: str, decides: bool) -> Evidence:
        names = ("true prior", name)
        return compare_methods(
            section, NNPU, methods, names=names, bound=SEVERE_AUC, decides=decides
        )

    return [
        Claim(
            "Estimated class priors cost nnPU much",
            "introduction, first figure",
            _OURS,
            f"on average over estimators the AUC is at least {SEVERE_AUC:g} below that with the "
            "true prior",
            [
                compare(run, "mean of estimates", True),
                *(compare([name], shown, False) for name, shown in estimates.items()),
            ],
            PRIOR_ERROR,
        )
    ]


def _judge_changes_of_prior(sections: Sections) -> list[Claim]:
    section = sections[MNIST]
    few, many = (f"{section.target.values[n]:,}" for n in (0, -1))

    def judge(settings: str, method: str) -> Claim:
        rise = compare_values(
            section,
            [method],
            lambda errors: (errors[-1], errors[0]),
            (f"with {many} labeled", f"with {few}"),
            bound=-COMPARABLE_ERROR,
        )
        against_ramp = compare_values(
            section,
            [method, RAMP],
            lambda own, ramp: (own[-1] - own[0], ramp[-1] - ramp[0]),
            (f"change of {MIXPUL}", f"of {RAMP}"),
            decides=False,
        )
        return Claim(
            "MixPUL is insensitive to the class prior",
            "results on MNIST",
            settings,
            "the error rises by at most "
            f"{100 * COMPARABLE_ERROR:g} percentage points from {few} to {many} labeled zeros, "
            "which lowers the class prior of the unlabeled images",
            [rise, against_ramp],
            MNIST,
        )

    return [judge(_PUBLISHED, MIXPUL_AS_PUBLISHED), judge(_OURS, MIXPUL)]


def _judge_errors_on_images(sections: Sections) -> list[Claim]:
    ramp = [
        Claim(
            "MixPUL errs less than Ramp on MNIST",
            "results on MNIST",
            settings,
            "the mean error is lower than that of Ramp, which is given the true prior",
            [compare_methods(sections[MNIST], method, RAMP, names=(MIXPUL, RAMP))],
            MNIST,
        )
        for settings, method in ((_PUBLISHED, MIXPUL_AS_PUBLISHED), (_OURS, MIXPUL))
    ]
    rivals = [
        Claim(
            "MixPUL errs less than nnPU on CIFAR-10",
            "abstract; results on CIFAR-10",
            settings,
            "the mean error is lower than that of nnPU, which is given the true prior",
            [
                compare_methods(
                    sections[target], method, rival, names=(MIXPUL, rival), decides=rival == NNPU
                )
                for rival in (NNPU, UPU)
            ]
            # All of the published settings takes a GPU.
            + [compare_shortened(sections[target], method, NNPU, (MIXPUL, NNPU))],
            target,
        )
        for settings, method, target in (
            (_PUBLISHED, MIXPUL_AS_PUBLISHED, CIFAR10),
            (_OURS, MIXPUL, CIFAR10_CPU),
        )
    ]
    return ramp + rivals


_CLAIMS: tuple[Callable[[Sections], list[Claim]], ...] = (
    _judge_need_of_prior,
    _judge_changes_of_prior,
    _judge_estimates,
    _judge_mining,
    _judge_mixup,
    _judge_margin,
    _judge_errors_on_images,
)
