"""The world around: weather, countries, languages, where people live."""

from __future__ import annotations

from lesson import french
from lesson.cast import acquaintance, someone
from lesson.clauses import NOT, Tense, deny, do, say, statement, together
from lesson.dice import Dice
from lesson.phrases import NOTHING, Both, NounPhrase, bilingual
from lesson.tables import rows
from lesson.times import DAYS, MONTHS, duration
from lesson.verbs import BE, verbs

IT = NounPhrase("il", "it", "m", False, 2, "thing")

WEATHER = verbs("""
    pleuvoir    | rain
    neiger      | snow
    faire froid | be cold
    faire chaud | be hot
    faire beau  | be sunny
    faire nuit  | be dark
    faire frais | be cool
""")
_REGIONS = bilingual("""
    à Paris            | in Paris
    à Londres          | in London
    à Lyon             | in Lyon
    à Rome             | in Rome
    à Madrid           | in Madrid
    dans les montagnes | in the mountains
    à la campagne      | in the countryside
    dans le désert     | in the desert
    sur l'île          | on the island
    au bord de la mer  | by the sea
    dans la vallée     | in the valley
    ici                | here
""")
_SEASONS = bilingual("""
    au printemps | in spring
    en été       | in summer
    en automne   | in autumn
    en hiver     | in winter
""") + tuple(Both(f"en {month.french}", f"in {month.english}") for month in MONTHS)
_PAST_DAYS = bilingual("""
    hier     | yesterday
    ce matin | this morning
    hier soir | last night
""")
_NEXT_DAYS = bilingual("""
    demain       | tomorrow
    ce soir      | tonight
    demain matin | tomorrow morning
""") + tuple(Both(day.french, f"on {day.english}") for day in DAYS)
_NOW = bilingual("""
    maintenant   | now
    en ce moment | at the moment
""")


def weather(dice: Dice) -> Both:
    """``Il neigeait dans les montagnes.``, ``Il ne pleuvra pas demain.``"""
    sky = dice.word(WEATHER)
    where = dice.one((NOTHING, dice.one(_REGIONS)))
    if sky.english != "be dark" and dice.chance(0.3):
        often = do(sky)._replace(adverb=dice.one((NOTHING, Both("souvent", "often"))))
        return statement(together(say(IT, often, Tense.PRESENT), where, dice.one(_SEASONS)))
    falls = sky.english in {"rain", "snow"}
    tense, when = dice.one(
        (
            (Tense.PAST if falls else Tense.STATE, dice.one(_PAST_DAYS)),
            (Tense.FUTURE, dice.one(_NEXT_DAYS)),
            (Tense.NOW if falls else Tense.PRESENT, dice.one(_NOW)),
        )
    )
    if dice.chance(0.3):
        return statement(together(deny(IT, do(sky), tense, NOT), where, when))
    return statement(together(say(IT, do(sky), tense), where, when))


# In the country | nationality and language | in English.
_COUNTRIES = tuple(
    (Both(there, f"in {country}"), Both(tongue, people))
    for there, tongue, country, people in rows("""
        en France     | français  | France   | French
        en Angleterre | anglais   | England  | English
        en Italie     | italien   | Italy    | Italian
        en Espagne    | espagnol  | Spain    | Spanish
        en Allemagne  | allemand  | Germany  | German
        en Grèce      | grec      | Greece   | Greek
        en Chine      | chinois   | China    | Chinese
        en Russie     | russe     | Russia   | Russian
        au Japon      | japonais  | Japan    | Japanese
        au Portugal   | portugais | Portugal | Portuguese
    """)
)
_TOWNS = bilingual("""
    Paris     | Paris
    Londres   | London
    Rome      | Rome
    Madrid    | Madrid
    Lyon      | Lyon
    Nice      | Nice
    Berlin    | Berlin
    Athènes   | Athens
    Tokyo     | Tokyo
    Lisbonne  | Lisbon
    Marseille | Marseille
    Genève    | Geneva
""")
_PLACED = verbs("""
    habiter    | live
    travailler | work
    voyager    | travel
    aller      | go
""")
# How a stay or a journey is told: one lives somewhere for years, one goes there once.
_TOLD = {
    "live": (Tense.PRESENT, Tense.FORMERLY, Tense.SINCE),
    "work": (Tense.PRESENT, Tense.FORMERLY, Tense.SINCE),
    "travel": (Tense.PAST, Tense.FUTURE, Tense.ONGOING),
    "go": (Tense.PAST, Tense.FUTURE),
}


def abroad(dice: Dice) -> Both:
    """``Mon frère habite à Londres depuis deux ans.``, ``Elle ira en Italie.``"""
    subject = someone(dice)
    country, _ = dice.one(_COUNTRIES)
    town = dice.one(_TOWNS)
    place = dice.one((country, Both(f"à {town.french}", f"in {town.english}")))
    how = dice.word(_PLACED)
    if how.english == "go":
        place = Both(place.french, "to" + place.english.removeprefix("in"))
    tense = dice.one(_TOLD[how.english])
    if tense is Tense.SINCE:
        return statement(together(say(subject, do(how, place), tense), duration(dice)))
    if tense in {Tense.PRESENT, Tense.PAST, Tense.FUTURE} and dice.chance(0.25):
        return statement(deny(subject, do(how, place), tense, NOT))
    return statement(say(subject, do(how, place), tense))


_TONGUES = verbs("""
    parler     | speak
    apprendre  | learn
    étudier    | study
    comprendre | understand
""")


def nationality(dice: Dice) -> Both:
    """``Elle est italienne.``, ``Nous apprenons le grec.``"""
    _, nation = dice.one(_COUNTRIES)
    if dice.chance(0.4):
        subject = acquaintance(dice)
        people = Both(french.agree(nation.french, subject.gender, subject.plural), nation.english)
        if dice.chance(0.3):
            return statement(deny(subject, do(BE, people), Tense.PRESENT, NOT))
        return statement(say(subject, do(BE, people), Tense.PRESENT))
    subject = someone(dice)
    how = dice.word(_TONGUES)
    article = "" if how.english == "speak" else "le"
    tongue = Both(french.spell(article, nation.french), nation.english)
    if how.english in {"speak", "understand"} and dice.chance(0.3):
        return statement(deny(subject, do(how, tongue), Tense.PRESENT, NOT))
    if how.english == "speak":
        well = Both(f"bien {nation.french}", f"{nation.english} well")
        some = Both(f"un peu {nation.french}", f"a little {nation.english}")
        return statement(say(subject, do(how, dice.one((tongue, well, some))), Tense.PRESENT))
    tenses = (Tense.PAST, Tense.FUTURE, Tense.ONGOING)
    tense = Tense.PRESENT if how.english == "understand" else dice.one(tenses)
    return statement(say(subject, do(how, tongue), tense))
