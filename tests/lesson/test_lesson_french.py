"""French spelling and conjugation: the irregular cases, and properties of all forms."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lesson import french, french_verbs
from lesson.french import agree, before, contract, number, plural, spell
from lesson.french_verbs import (
    auxiliary,
    conjugate,
    forms,
    imperative,
    participle,
)


@pytest.mark.parametrize("module", [french, french_verbs], ids=lambda module: module.__name__)
def test_the_examples_in_the_documentation_hold(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("words", "spelled"),
    [
        ("le animal", "l'animal"),
        ("la école", "l'école"),
        ("le homme", "l'homme"),
        ("le hibou", "le hibou"),
        ("la haie", "la haie"),
        ("le hérisson", "le hérisson"),
        ("de haricots", "de haricots"),
        ("plus de huit", "plus de huit"),
        ("le onze mai", "le onze mai"),
        ("de œufs", "d'œufs"),
        ("de yeux", "d'yeux"),
        ("je y vais", "j'y vais"),
        ("je ne ai pas", "je n'ai pas"),
        ("il se est levé", "il s'est levé"),
        ("ce est vrai", "c'est vrai"),
        ("ce était vrai", "c'était vrai"),
        ("ce ours", "ce ours"),  # a noun takes cet, which is not a matter of spelling
        ("si il pleut", "s'il pleut"),
        ("si ils viennent", "s'ils viennent"),
        ("si elle vient", "si elle vient"),
        ("est-ce que Alice dort", "est-ce qu'Alice dort"),
        ("parce que elle dort", "parce qu'elle dort"),
        ("puis-je avoir", "puis-je avoir"),
        ("Le animal", "L'animal"),
        ("Je ai faim", "J'ai faim"),
        ("le le animal", "le l'animal"),
    ],
)
def test_elision(words: str, spelled: str) -> None:
    assert spell(*words.split()) == spelled
    assert spell(words) == spelled


@given(
    st.lists(st.sampled_from(["le", "la", "je", "que", "animal", "chat", "a", "hibou", "il", ""]))
)
def test_spelling_twice_is_spelling_once(words: list[str]) -> None:
    assert spell(spell(*words)) == spell(*words)


@pytest.mark.parametrize(
    ("preposition", "phrase", "fused"),
    [
        ("à", "le marché", "au marché"),
        ("à", "les enfants", "aux enfants"),
        ("à", "la gare", "à la gare"),
        ("à", "l'école", "à l'école"),
        ("de", "le roi", "du roi"),
        ("de", "les rois", "des rois"),
        ("de", "l'eau", "de l'eau"),
        ("de", "Alice", "d'Alice"),
        ("de", "leurs amis", "de leurs amis"),
        ("à côté de", "le mur", "à côté du mur"),
        ("près de", "les arbres", "près des arbres"),
        ("dans", "le jardin", "dans le jardin"),
    ],
)
def test_contraction(preposition: str, phrase: str, fused: str) -> None:
    assert contract(preposition, phrase) == fused


@pytest.mark.parametrize(
    ("singular", "expected"),
    [
        ("cheval", "chevaux"),
        ("journal", "journaux"),
        ("œil", "yeux"),
        ("genou", "genoux"),
        ("hibou", "hiboux"),
        ("chou", "choux"),
        ("bijou", "bijoux"),
        ("oiseau", "oiseaux"),
        ("neveu", "neveux"),
        ("jeu", "jeux"),
        ("nez", "nez"),
        ("souris", "souris"),
        ("fils", "fils"),
        ("grand-mère", "grands-mères"),
        ("pomme de terre", "pommes de terre"),
        ("carte postale", "cartes postales"),
        ("appareil photo", "appareils photo"),
        ("chauve-souris", "chauves-souris"),
    ],
)
def test_plural(singular: str, expected: str) -> None:
    assert plural(singular) == expected


@pytest.mark.parametrize(
    ("word", "feminine", "masculine_plural", "feminine_plural"),
    [
        ("petit", "petite", "petits", "petites"),
        ("beau", "belle", "beaux", "belles"),
        ("nouveau", "nouvelle", "nouveaux", "nouvelles"),
        ("vieux", "vieille", "vieux", "vieilles"),
        ("blanc", "blanche", "blancs", "blanches"),
        ("long", "longue", "longs", "longues"),
        ("sec", "sèche", "secs", "sèches"),
        ("frais", "fraîche", "frais", "fraîches"),
        ("doux", "douce", "doux", "douces"),
        ("jaloux", "jalouse", "jaloux", "jalouses"),
        ("gentil", "gentille", "gentils", "gentilles"),
        ("gros", "grosse", "gros", "grosses"),
        ("épais", "épaisse", "épais", "épaisses"),
        ("heureux", "heureuse", "heureux", "heureuses"),
        ("léger", "légère", "légers", "légères"),
        ("fier", "fière", "fiers", "fières"),
        ("amer", "amère", "amers", "amères"),
        ("bon", "bonne", "bons", "bonnes"),
        ("ancien", "ancienne", "anciens", "anciennes"),
        ("inquiet", "inquiète", "inquiets", "inquiètes"),
        ("violet", "violette", "violets", "violettes"),
        ("français", "française", "français", "françaises"),
        ("grec", "grecque", "grecs", "grecques"),
        ("bleu", "bleue", "bleus", "bleues"),
        ("rouge", "rouge", "rouges", "rouges"),
        ("marron", "marron", "marron", "marron"),
        ("surpris", "surprise", "surpris", "surprises"),
    ],
)
def test_agreement(word: str, feminine: str, masculine_plural: str, feminine_plural: str) -> None:
    assert agree(word, "m", False) == word
    assert agree(word, "f", False) == feminine
    assert agree(word, "m", True) == masculine_plural
    assert agree(word, "f", True) == feminine_plural


def test_an_adjective_before_a_vowel() -> None:
    assert before("beau", "m", False, "oiseau") == "bel"
    assert before("nouveau", "m", False, "hôtel") == "nouvel"
    assert before("vieux", "m", False, "homme") == "vieil"
    assert before("vieux", "m", False, "hibou") == "vieux"
    assert before("beau", "f", False, "église") == "belle"
    assert before("vieux", "m", True, "arbres") == "vieux"


def test_numbers() -> None:
    assert number(1) == "un"
    assert number(16) == "seize"
    assert number(17) == "dix-sept"
    assert number(61) == "soixante et un"
    assert number(70) == "soixante-dix"
    assert number(75) == "soixante-quinze"
    assert number(91) == "quatre-vingt-onze"
    assert number(100) == "cent"
    assert len({number(n) for n in range(101)}) == 101


PRESENT = {
    "être": "suis es est sommes êtes sont",
    "avoir": "ai as a avons avez ont",
    "aller": "vais vas va allons allez vont",
    "faire": "fais fais fait faisons faites font",
    "manger": "mange manges mange mangeons mangez mangent",
    "commencer": "commence commences commence commençons commencez commencent",
    "acheter": "achète achètes achète achetons achetez achètent",
    "appeler": "appelle appelles appelle appelons appelez appellent",
    "préférer": "préfère préfères préfère préférons préférez préfèrent",
    "protéger": "protège protèges protège protégeons protégez protègent",
    "nettoyer": "nettoie nettoies nettoie nettoyons nettoyez nettoient",
    "lever": "lève lèves lève levons levez lèvent",
    "étudier": "étudie étudies étudie étudions étudiez étudient",
    "chercher": "cherche cherches cherche cherchons cherchez cherchent",
    "finir": "finis finis finit finissons finissez finissent",
    "choisir": "choisis choisis choisit choisissons choisissez choisissent",
    "partir": "pars pars part partons partez partent",
    "dormir": "dors dors dort dormons dormez dorment",
    "ouvrir": "ouvre ouvres ouvre ouvrons ouvrez ouvrent",
    "vendre": "vends vends vend vendons vendez vendent",
    "comprendre": "comprends comprends comprend comprenons comprenez comprennent",
    "revenir": "reviens reviens revient revenons revenez reviennent",
    "conduire": "conduis conduis conduit conduisons conduisez conduisent",
    "peindre": "peins peins peint peignons peignez peignent",
    "boire": "bois bois boit buvons buvez boivent",
    "recevoir": "reçois reçois reçoit recevons recevez reçoivent",
}


@pytest.mark.parametrize("infinitive", PRESENT)
def test_the_present(infinitive: str) -> None:
    expected = PRESENT[infinitive].split()
    assert [conjugate(infinitive, "présent", slot) for slot in range(6)] == expected


@pytest.mark.parametrize(
    ("infinitive", "il", "nous", "ils"),
    [
        ("être", "était", "étions", "étaient"),
        ("manger", "mangeait", "mangions", "mangeaient"),
        ("commencer", "commençait", "commencions", "commençaient"),
        ("finir", "finissait", "finissions", "finissaient"),
        ("boire", "buvait", "buvions", "buvaient"),
        ("étudier", "étudiait", "étudiions", "étudiaient"),
        ("recevoir", "recevait", "recevions", "recevaient"),
        ("peindre", "peignait", "peignions", "peignaient"),
        ("faire", "faisait", "faisions", "faisaient"),
    ],
)
def test_the_imperfect(infinitive: str, il: str, nous: str, ils: str) -> None:
    assert [conjugate(infinitive, "imparfait", slot) for slot in (2, 3, 5)] == [il, nous, ils]


@pytest.mark.parametrize(
    ("infinitive", "il_future", "je_conditional", "past"),
    [
        ("être", "sera", "serais", "été"),
        ("avoir", "aura", "aurais", "eu"),
        ("aller", "ira", "irais", "allé"),
        ("acheter", "achètera", "achèterais", "acheté"),
        ("appeler", "appellera", "appellerais", "appelé"),
        ("préférer", "préférera", "préférerais", "préféré"),
        ("nettoyer", "nettoiera", "nettoierais", "nettoyé"),
        ("envoyer", "enverra", "enverrais", "envoyé"),
        ("voir", "verra", "verrais", "vu"),
        ("vouloir", "voudra", "voudrais", "voulu"),
        ("pouvoir", "pourra", "pourrais", "pu"),
        ("vendre", "vendra", "vendrais", "vendu"),
        ("mettre", "mettra", "mettrais", "mis"),
        ("ouvrir", "ouvrira", "ouvrirais", "ouvert"),
        ("offrir", "offrira", "offrirais", "offert"),
        ("cueillir", "cueillera", "cueillerais", "cueilli"),
        ("courir", "courra", "courrais", "couru"),
        ("revenir", "reviendra", "reviendrais", "revenu"),
        ("traduire", "traduira", "traduirais", "traduit"),
        ("naître", "naîtra", "naîtrais", "né"),
        ("pleuvoir", "pleuvra", "pleuvrais", "plu"),
    ],
)
def test_future_conditional_participle(
    infinitive: str, il_future: str, je_conditional: str, past: str
) -> None:
    assert conjugate(infinitive, "futur", 2) == il_future
    assert conjugate(infinitive, "conditionnel", 0) == je_conditional
    assert participle(infinitive) == past


def test_imperatives() -> None:
    assert imperative("manger", 1) == "mange"
    assert imperative("ouvrir", 1) == "ouvre"
    assert imperative("aller", 1) == "va"
    assert imperative("prendre", 1) == "prends"
    assert imperative("finir", 4) == "finissez"
    assert imperative("faire", 4) == "faites"
    assert imperative("avoir", 4) == "ayez"


def test_auxiliaries() -> None:
    assert auxiliary("aller") == auxiliary("naître") == auxiliary("tomber") == "être"
    assert auxiliary("manger") == auxiliary("courir") == auxiliary("être") == "avoir"


@given(st.sampled_from(sorted(PRESENT)), st.integers(0, 5))
def test_the_conditional_is_the_future_with_the_endings_of_the_imperfect(
    infinitive: str, slot: int
) -> None:
    stem = forms(infinitive).future_stem
    imperfect = conjugate("parler", "imparfait", slot).removeprefix("parl")
    assert conjugate(infinitive, "conditionnel", slot) == stem + imperfect
