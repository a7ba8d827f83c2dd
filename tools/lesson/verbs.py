"""The verbs of the lesson: French, English, who does it, and to what.

Subjects and objects name nouns or classes of nouns, so that dogs chase mice and read no papers.
A French verb may stand in two rows whose objects differ: *porter* is *wear* or *carry*.
"""

from __future__ import annotations

from collections.abc import Iterable

from lesson.lexicon import Verb, read_verbs
from lesson.nouns import NOUNS
from lesson.tables import names, rows

# Verbs with a direct object on both sides.
_TRANSITIVE = """
manger      | eat        | persons |
    fruits, dishes, bread, cheese, soup, meat, rice, chocolate, salad, chicken, ice cream,
    carrot, fish, tomato
boire       | drink      | persons | drinks
lire        | read       | persons | texts, story
écrire      | write      | persons |
    letter, book, novel, poem, article, message, postcard, song, recipe
acheter     | buy        | persons | goods
vendre      | sell       | persons | goods
choisir     | choose     | persons | goods, movie, gift, song, novel
porter      | wear       | persons |
    shirt, dress, coat, hat, skirt, sweater, scarf, jacket, tie, uniform, cap, ring, watch,
    necklace
porter      | carry      | persons | bag, suitcase, box, basket, bucket, backpack, crate, ladder
laver       | wash       | persons |
    car, shirt, dress, plate, glass, cup, window, dog, sweater, skirt, towel, bowl, blanket,
    scarf, curtain
nettoyer    | clean      | persons |
    kitchen, bedroom, bathroom, office, living room, table, house, garage, mirror, cellar
ouvrir      | open       | persons |
    door, window, box, book, bag, drawer, suitcase, umbrella, bottle, wardrobe, cupboard, trunk,
    gift, letter, chest
fermer      | close      | persons |
    door, window, box, book, bag, drawer, suitcase, bottle, wardrobe, cupboard, trunk, chest,
    curtain, store
casser      | break      | persons |
    vase, glass, cup, plate, bottle, window, mirror, toy, lamp, bowl, chair, teapot, carafe
réparer     | repair     | persons |
    car, bike, watch, roof, radio, machine, chair, boat, computer, bridge, truck, tractor,
    clock, television, motorcycle, fence, toy, door, guitar
perdre      | lose       | persons | belongings, dog, ball, match, necklace, game
trouver     | find       | persons |
    belongings, dog, cat, ball, treasure, mushroom, answer, bone, feather
chercher    | look for   | persons |
    belongings, dog, cat, ball, treasure, station, hotel, restaurant, hammer
oublier     | forget     | persons | belongings, word, gift, poem, song, hammer, rule
voir        | see        | persons |
    wildlife, snake, bird, owl, horse, whale, boat, plane, train, castle, tower, star, mountain,
    island, statue, painting, movie, moon, lake, sea, ambulance, bridge, spider
regarder    | look at    | persons |
    photo, painting, star, sun, moon, map, sky, sea, statue, mountain, river, boat, bird, fish,
    letter, watch, clock, snow, cat, tree, tower, cloud
regarder    | watch      | persons | movie, match, television
écouter     | listen to  | persons | song, story, radio, music, teacher, singer
entendre    | hear       | persons |
    noise, song, music, bird, train, plane, owl, rooster, wolf, baby
chanter     | sing       | persons | song
conduire    | drive      | persons | car, truck, bus, taxi, tractor, van, ambulance
construire  | build      | persons |
    house, bridge, school, church, boat, wall, castle, hospital, tower, station, road
peindre     | paint      | persons |
    wall, house, door, bedroom, boat, chair, fence, bench, kitchen, roof
dessiner    | draw       | persons |
    house, cat, horse, tree, map, flower, bird, boat, castle, dog, fish, elephant, lion, bridge,
    giraffe
préparer    | prepare    | persons |
    soup, cake, salad, coffee, tea, meals, pie, omelet, sandwich, pancake, chicken, lesson,
    trip, party
couper      | cut        | persons |
    bread, cake, cheese, meat, apple, onion, pie, carrot, rope, tree, branch, grass, tomato
cueillir    | pick       | persons |
    flower, apple, rose, cherry, strawberry, pear, mushroom, tomato, peach, lemon, tulip
planter     | plant      | persons |
    tree, rose, flower, tulip, potato, tomato, carrot, cabbage, onion, hedge
arroser     | water      | persons | flower, rose, tree, tulip, garden, grass
attendre    | wait for   | persons |
    bus, train, taxi, plane, boat, letter, message, answer, mail carrier, doctor, guest, teacher,
    friend
rencontrer  | meet       | persons | people, trades, friend, neighbor
aider       | help       | persons | people, trades, relatives, circle
inviter     | invite     | persons | people, trades, relatives, circle
appeler     | call       | persons |
    doctor, dentist, vet, police officer, mechanic, lawyer, relatives, circle, nurse, taxi
remercier   | thank      | persons | people, trades, relatives, circle
saluer      | greet      | persons | people, trades, circle
visiter     | visit      | persons |
    museum, city, castle, church, island, village, zoo, factory, farm, tower, school, cave,
    library, apartment, neighborhood, harbor
quitter     | leave      | persons |
    house, city, village, school, office, hospital, restaurant, hotel, party, island, farm,
    station
traverser   | cross      | persons, walkers | crossings
suivre      | follow     | persons |
    man, woman, police officer, thief, path, trail, river, dog, fox, road
apprendre   | learn      | persons | song, poem, lesson, language, rule, word, recipe
comprendre  | understand | persons |
    question, lesson, sentence, problem, story, word, answer, rule, movie, exercise, message
expliquer   | explain    | persons |
    problem, rule, lesson, question, exercise, game, answer, idea, mistake, word, sentence
raconter    | tell       | persons | story, dream, secret
corriger    | correct    | persons | exercise, mistake, sentence, letter, exam, article
traduire    | translate  | persons |
    letter, sentence, book, poem, word, article, song, novel, message, story
prendre     | take       | persons |
    bus, train, taxi, plane, umbrella, key, map, bag, coat, photo, blanket, boat
apporter    | bring      | persons |
    gift, cake, chair, bottle, pie, flower, book, guitar, blanket, map, soup, umbrella, wine,
    rose
recevoir    | receive    | persons | letter, gift, message, postcard, answer, money, photo
cacher      | hide       | persons |
    treasure, key, letter, money, gift, ring, jewel, photo, book, map
remplir     | fill       | persons |
    glass, bottle, bucket, basket, bag, box, cup, bowl, suitcase, carafe, pitcher
lancer      | throw      | persons | ball, stone
pousser     | push       | persons | car, cart, bike, door, table, box, chest
soulever    | lift       | persons |
    stone, box, suitcase, chest, crate, table, trunk, machine, couch, bag, basket
déplacer    | move       | persons |
    table, chair, bed, lamp, couch, armchair, shelf, wardrobe, bench, piano, rug
mettre      | put on     | persons | clothes
enlever     | take off   | persons | clothes
goûter      | taste      | persons |
    soup, cake, cheese, wine, pie, jam, salad, honey, tea, omelet, chocolate, fish
voler       | steal      | thief, man, woman, boy |
    car, bike, ring, money, painting, wallet, bag, watch, jewel, phone, treasure, statue
découvrir   | discover   | persons | island, treasure, secret, cave, mistake, valley, path
servir      | serve      | persons |
    tea, coffee, soup, wine, salad, beer, lemonade, dinner, lunch, cake
emprunter   | borrow     | persons |
    book, bike, car, pen, umbrella, ladder, money, guitar, tool, dress, truck, map, coat
nourrir     | feed       | persons | pets, livestock, bird, baby
caresser    | stroke     | persons | pets, horse, donkey, mare, goat, sheep
sauver      | save       | persons |
    man, woman, child, dog, cat, bird, boy, girl, princess, baby, horse, whale, pilot
rater       | miss       | persons | bus, train, plane, boat, movie, party, lesson, exam
gagner      | win        | persons | match, game, trophy
chasser     | chase      | stalkers | small prey
chasser     | chase      | predators | large prey
attraper    | catch      | stalkers | small prey
attraper    | catch      | predators | large prey
suivre      | follow     | animals | man, woman, boy, girl, child, farmer, dog, path, river, trail
manger      | eat        | horse, cow, goat, sheep, rabbit, donkey, mare, mule, hen, goose, bird |
    apple, carrot, grass, bread, leaf, flower, cabbage, salad, strawberry
manger      | eat        | cat, dog, fox, bear, wolf, otter |
    fish, meat, chicken, cake, bread, cheese, egg
boire       | drink      | walkers | water, milk
mordre      | bite       | dog, snake, cat, rat, wolf, mouse, bear |
    man, woman, boy, girl, mail carrier, thief, police officer, farmer
chercher    | look for   | dog, cat, fox, bear, squirrel, rat | bone, water, honey, ball
cacher      | hide       | dog, squirrel, monkey, crow | bone, apple, key, ball, ring
"""

# The same kind of table for what people do again and again.
_HABITUAL = """
boire      | drink     | persons | drinks
manger     | eat       | persons |
    fruits, bread, cheese, meat, rice, salad, soup, fish, egg, carrot, chocolate
lire       | read      | persons | book, novel, newspaper, magazine, poem, story
écrire     | write     | persons | letter, poem, message, postcard, article
acheter    | buy       | persons |
    bread, milk, cheese, fruits, newspaper, flower, meat, egg, fish, tomato
vendre     | sell      | persons |
    bread, flower, fruits, cheese, honey, vegetables, fish, newspaper
préparer   | prepare   | persons | meals, soup, coffee, salad
prendre    | take      | persons | bus, train
laver      | wash      | persons | car, plate, dog, window
arroser    | water     | persons | garden, flower, rose, tree
nourrir    | feed      | persons | hen, cat, dog, horse, rabbit, duck, pig, goat, fish
écouter    | listen to | persons | radio, song, music
regarder   | watch     | persons | television, movie
nettoyer   | clean     | persons | kitchen, bathroom, bedroom, office, living room
ouvrir     | open      | persons | window, store
fermer     | close     | persons | window, store, curtain
conduire   | drive     | persons | bus, truck, taxi
porter     | wear      | persons | hat, scarf, tie, cap, uniform
attendre   | wait for  | persons | bus, train, mail carrier
raconter   | tell      | persons | story
corriger   | correct   | persons | exercise, mistake
"""

# Verbs of rest: who, and where.
_RESTING = """
dormir      | sleep         | persons | bedroom, living room, garden, attic, hotel, beach
dormir      | sleep         | pets, cow, horse, pig, donkey, goat, sheep |
    kitchen, garden, courtyard, garage, field, farm
jouer       | play          | children, son, daughter |
    garden, park, beach, courtyard, bedroom, street, square, stadium, forest, living room, field
jouer       | play          | cat, dog, rabbit, squirrel, otter |
    garden, park, courtyard, field, beach
travailler  | work          | persons |
    office, garden, hospital, factory, farm, bank, restaurant, school, library, pharmacy, bakery,
    harbor, field, museum, hotel, kitchen, airport, station, theater, post office, cinema, zoo
attendre    | wait          | persons |
    station, airport, restaurant, street, park, hotel, hallway, square, bakery, hospital, theater,
    post office, bank
manger      | eat           | persons | kitchen, restaurant, garden, office, park, hotel, school
chanter     | sing          | persons | church, garden, street, kitchen, theater, bathroom, park
danser      | dance         | persons |
    living room, street, theater, garden, square, kitchen, beach
étudier     | study         | persons |
    library, university, bedroom, school, kitchen, garden, office
rester      | stay          | persons |
    school, hotel, hospital, office, beach, village, countryside, kitchen, bedroom, library, farm
lire        | read          | persons |
    library, garden, park, bedroom, living room, beach, kitchen
se reposer  | rest          | persons |
    garden, bedroom, living room, hotel, beach, countryside, park
se promener | go for a walk | persons |
    park, forest, street, garden, beach, countryside, village, harbor
nager       | swim          | persons | sea, lake, river, pool
nager       | swim          | duck, otter, frog, fish, goose, dog | lake, river, sea, pond
courir      | run           | persons | park, forest, street, garden, stadium, beach, field
courir      | run           | horse, dog, deer, rabbit, fox, mare, goat, hen |
    field, forest, park, garden, courtyard
se cacher   | hide          | children, thief |
    attic, garden, cellar, forest, garage, cave, kitchen
se cacher   | hide          | fox, mouse, rabbit, cat, rat, bear, snake, wolf |
    forest, cellar, garden, attic, cave, field
tomber      | fall          | persons |
    street, kitchen, garden, hallway, courtyard, bathroom, park
"""

# Verbs of motion: who, and where to.
_MOVING = """
aller     | go      | persons |
    market, school, station, hospital, hotel, bank, post office, museum, library, restaurant,
    theater, cinema, airport, zoo, stadium, pool, farm, office, university, beach, bakery, pharmacy,
    harbor, church, castle, countryside, garden, park, forest, kitchen, bedroom, cellar, attic
aller     | go      | pets, livestock, fox, bear, deer, doe |
    garden, field, kitchen, forest, courtyard, garage
retourner | go back | persons |
    market, school, station, hospital, hotel, bank, museum, library, restaurant, farm, office,
    university, beach, bakery, castle, countryside, garden, kitchen, park
arriver   | arrive  | persons |
    market, school, station, hospital, hotel, museum, restaurant, theater, airport, stadium, office,
    beach, castle, harbor, farm, library
"""

# What one does without an object or a place.
_ALONE = """
dormir       | sleep         | persons, pets, livestock |
partir       | leave         | persons |
arriver      | arrive        | persons |
sortir       | go out        | persons |
tomber       | fall          | persons |
rire         | laugh         | persons |
pleurer      | cry           | persons |
crier        | shout         | persons |
chanter      | sing          | persons |
danser       | dance         | persons |
travailler   | work          | persons |
cuisiner     | cook          | persons |
voyager      | travel        | persons |
nager        | swim          | persons |
courir       | run           | persons |
manger       | eat           | persons, pets, livestock |
revenir      | come back     | persons |
se lever     | get up        | persons |
se réveiller | wake up       | persons, pets |
se coucher   | go to bed     | persons |
se reposer   | rest          | persons, pets, livestock |
se dépêcher  | hurry         | persons |
s'habiller   | get dressed   | persons |
se promener  | go for a walk | persons |
"""


def anyone_can(verb: Verb) -> bool:
    """Tell whether it is something that people in general do."""
    return NOUNS["doctor"] in verb.subjects


TRANSITIVE: tuple[Verb, ...] = read_verbs(_TRANSITIVE, NOUNS)
HUMAN: tuple[Verb, ...] = tuple(verb for verb in TRANSITIVE if anyone_can(verb))
HABITUAL: tuple[Verb, ...] = read_verbs(_HABITUAL, NOUNS)
RESTING: tuple[Verb, ...] = read_verbs(_RESTING, NOUNS)
MOVING: tuple[Verb, ...] = read_verbs(_MOVING, NOUNS)
ALONE: tuple[Verb, ...] = read_verbs(_ALONE, NOUNS)


def verb(french: str, english: str) -> Verb:
    """Return a verb that a construction names itself, with subjects and objects of its own."""
    return Verb(french, english, (), ())


def select(table: Iterable[Verb], listed: str) -> tuple[Verb, ...]:
    """Return the verbs of a table that have these English names."""
    wanted = names(listed)
    return tuple(entry for entry in table if entry.english in wanted)


def verbs(table: str) -> tuple[Verb, ...]:
    """Read lines of ``french | english``."""
    return tuple(verb(*row) for row in rows(table))


BE = verb("être", "be")
HAVE = verb("avoir", "have")
