"""The words and signs of the page, for someone who never saw the paper."""

from miscal.base.vocabulary import vocabulary
from miscal.report.formatting import brief_points
from miscal.report.panel import Panel
from miscal.report.row_wording import row_words
from miscal.report.source import Source

ENTRIES = {
    "{Probability}": "{meaning}",
    "Residual": "{residual} {signs}",
    "Field": (
        "The residual to be expected at a given input, estimated from similar inputs. It has a sign and a size at "
        "every input, including new ones."
    ),
    "Visible and hidden": (
        "Visible miscalibration depends on the {probability} alone, so a reliability diagram shows it. Hidden "
        "miscalibration differs between inputs of equal {probability}. It can cancel in a reliability diagram; to find "
        "it is the purpose of this page."
    ),
    "Regime": (
        "All rows whose field is more than {threshold} below zero ({over}), more than {threshold} above zero "
        "({under}), or between the two. A subregime is a part of a regime whose rows lie close together. "
        "Regimes by what is hidden are divided by the hidden part of the field instead."
    ),
    "At least … points": (
        "A one-sided 95 % lower confidence limit. {directions} The better the outcomes agree with these directions, "
        "the higher the limit of the mean absolute miscalibration. Such a limit is too high in at most 5 % of all runs."
    ),
    "smECE and its floor": (
        "The smooth calibration error: the average distance between {probability} and {rate}, smoothed over the "
        "{probability}. Even a perfectly calibrated model shows some error by chance; the floor says how much."
    ),
    "(3.9x)": (
        "In the name of a subregime, this says that the value before it is 3.9 times as frequent in the subregime as "
        "in all rows."
    ),
    "Odds": "{odds}",
    "p": (
        "The probability that chance alone would show an effect at least as large. Small values, such as those below "
        "0.05, are evidence against chance."
    ),
}

TEMPLATE = """
<dl class="glossary">
{% for word, meaning in view.items() %}
<div><dt>{{ word }}</dt><dd>{{ meaning }}</dd></div>
{% endfor %}
</dl>
"""


def view(source: Source) -> dict[str, str]:
    """Return what each word means, with the run's own threshold."""
    threshold = "the threshold" if source.epsilon is None else brief_points(source.epsilon)
    words = row_words(source.summary)
    entries = {**ENTRIES, words.unseen[0]: words.unseen[1]}
    terms = vocabulary(source.summary.kind)
    fills = {
        **{"threshold": threshold, "directions": words.directions, "probability": terms.probability},
        **{"Probability": terms.probability.capitalize(), "meaning": terms.meanings["probability"]},
        **{"over": terms.over, "under": terms.under, "rate": terms.rate},
        **{name: terms.meanings[name] for name in ("residual", "signs", "odds")},
    }
    return {word.format(**fills): meaning.format(**fills) for word, meaning in entries.items()}


PANEL = Panel("glossary", "Words and signs", view, TEMPLATE, contents="Glossary")
