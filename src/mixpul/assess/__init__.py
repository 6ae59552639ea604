"""How good a method is on your own PU data, and which of several is best; no negatives needed.

Tables are prepared by `mixpul.tables.TableInput`: ``pip install 'mixpul[tables]'``.
"""

from mixpul._names import METHODS
from mixpul.assess.assessment import Assessment, assess
from mixpul.assess.auditing import Audit, audit
from mixpul.assess.claims import Claims, make_claims
from mixpul.assess.comparison import Comparison, compare
from mixpul.assess.importance import permutation_importance
from mixpul.assess.source import Source
from mixpul.assess.strata import Review, review

__all__ = [
    "METHODS",
    "Assessment",
    "Audit",
    "Claims",
    "Comparison",
    "Review",
    "Source",
    "assess",
    "audit",
    "compare",
    "make_claims",
    "permutation_importance",
    "review",
]
