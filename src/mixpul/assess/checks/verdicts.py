"""What a check asks and answers; the words of the terminal, the JSON and the page."""

from typing import Literal, NamedTuple, TypedDict, get_args

__all__ = ["VERDICTS", "Check", "Question", "Verdict"]

# A note says that something is not known: neither good news nor a reason to worry.
Verdict = Literal["good", "note", "caution", "bad"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Check(TypedDict):
    """A question that was asked of an assessment, and the answer in words.

    The name is a neutral title such as "class prior", so that "bad: class prior" can be said.
    """

    name: str
    question: str
    verdict: Verdict
    text: str


class Question(NamedTuple):
    """What a check asks.

    Examples
    --------
    >>> from mixpul.assess.checks.verdicts import Question
    >>> check = Question("ranking", "Is it better than chance?").answer("good", "It is.")
    >>> check["verdict"], check["name"]
    ('good', 'ranking')
    """

    name: str
    text: str

    def answer(self, verdict: Verdict, text: str) -> Check:
        """Return the question with its answer."""
        return Check(name=self.name, question=self.text, verdict=verdict, text=text)
