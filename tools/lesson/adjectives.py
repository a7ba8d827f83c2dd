"""The adjectives of the lesson: French, English, place in French, and what they can describe.

``before`` and ``after`` say on which side of the French noun the word stands; ``alone`` means only
after *be*. The last column names nouns or classes of nouns. One French word may stand in two rows
whose nouns differ: *grand* is *tall* for people and *big* for things.
"""

from __future__ import annotations

from lesson.lexicon import Adjective, read_adjectives
from lesson.nouns import NOUNS
from lesson.tables import names

_TABLE = """
grand       | big         | before |
    animals, buildings, rooms, containers, garden, park, lake, forest, island, field, city,
    table, bed, car, boat, tree, window, door, mirror, clock, statue, plate, stone, couch
petit       | small       | before |
    animals, buildings, rooms, containers, garden, park, lake, island, village, table, chair,
    lamp, car, boat, key, spoon, bowl, toy, doll, stone, notebook, square, stream, pond, window,
    bench
petit       | little      | before | boy, girl, child, prince, princess, brother, sister, cousin
grand       | tall        | alone  | persons
gros        | fat         | before |
    cat, dog, rabbit, hamster, pig, hen, cow, goose, turkey, bear, rat, mouse, squirrel
beau        | beautiful   | before |
    horse, bird, cat, dog, mare, doe, deer, parrot, house, castle, church, garden, park, city,
    village, beach, island, forest, lake, river, mountain, dress, ring, watch, necklace, jewel,
    painting, statue, flower, rose, tulip, tree, song, story, poem, woman, queen, princess, sea,
    bridge, hat, vase, animal, star
joli        | pretty      | before |
    girl, dress, skirt, hat, scarf, ring, necklace, house, village, garden, flower, rose,
    bedroom, cup, vase, bird, song, kitchen, plate, doll, street, square, courtyard, tulip
bon         | good        | before |
    idea, restaurant, book, movie, friend, doctor, teacher, cook, answer, soup, cake, cheese,
    wine, bread, coffee, recipe, song, trip, dog, hotel, story, actor, singer, neighbor, baker,
    question, game, student, meat, pupil, writer, dentist, dinner, lunch, breakfast
mauvais     | bad         | before |
    idea, movie, answer, dream, restaurant, book, hotel, coffee, song, game
nouveau     | new         | before |
    car, house, dress, coat, bike, computer, phone, school, teacher, hospital, bridge, hat,
    apartment, neighbor, colleague, shirt, station, table, book, movie, song, game, idea, pupil,
    lamp, restaurant, secretary, umbrella, hotel, watch, office, camera, museum
vieux       | old         | before |
    man, woman, lady, king, queen, animals, house, castle, church, bridge, car, bike, boat,
    piano, clock, table, book, tree, hat, coat, city, hotel, school, tower, truck, chair,
    neighborhood, theater, factory, farm, map, wall, apartment, suitcase, machine, umbrella,
    armchair, painting, soldier, gardener, doctor, farmer, friend
jeune       | young       | before |
    man, woman, lady, king, queen, prince, princess, trades, mother, father, animals
long        | long        | before |
    street, road, river, bridge, letter, story, dress, rope, trip, tunnel, movie, hallway,
    novel, coat, ladder, avenue, song, poem, scarf, track, beach, trail, sentence, path
court       | short       | after  |
    street, bridge, letter, story, dress, skirt, trip, tunnel, movie, rope, poem, sentence,
    trail, song, word, lesson
haut        | high        | before | wall, mountain, tower, hedge, fence, hill
bas         | low         | after  | wall, hedge, fence, table, chair, shelf, door, bench, bridge
large       | wide        | after  |
    street, road, river, avenue, bridge, bed, boulevard, track, hallway, canal, door
étroit      | narrow      | after  |
    street, path, bridge, door, hallway, bed, trail, tunnel, alley, footbridge, stream
profond     | deep        | after  | lake, river, sea, pond, ditch, cave, canal, stream, valley
rouge       | red         | after  | colored, apple, rose, tulip
bleu        | blue        | after  | colored, sky, eye, sea
vert        | green       | after  | colored, apple, grass, leaf, frog
jaune       | yellow      | after  | colored, lemon, rose, tulip, leaf
noir        | black       | after  |
    colored, cat, dog, horse, hen, mare, sheep, spider, panther, crow, wolf
blanc       | white       | after  |
    colored, cat, dog, horse, rabbit, hen, mare, cow, goose, goat, rose, tulip, mouse
gris        | gray        | after  |
    colored, cat, wolf, mouse, donkey, rabbit, squirrel, sky, cloud
rose        | pink        | after  |
    dress, skirt, shirt, hat, scarf, flower, tulip, curtain, house, sock, pig, bag, cup
marron      | brown       | after  |
    dog, horse, bear, cow, bag, coat, shoe, boot, chair, table, door, belt, jacket, eye
violet      | purple      | after  |
    dress, skirt, scarf, flower, tulip, curtain, hat, umbrella, notebook
rond        | round       | after  |
    table, rug, box, mirror, plate, stone, window, clock, basket, pond, tower, square
cher        | expensive   | after  |
    car, dress, watch, ring, hotel, restaurant, painting, coat, guitar, piano, computer, phone,
    camera, house, apartment, couch, wine, necklace, boat, rug, ticket, trip, violin, meat,
    cheese
vide        | empty       | after  |
    bottle, glass, box, house, street, bedroom, bag, drawer, basket, train, wallet, church,
    bucket, cup, suitcase, theater, beach
plein       | full        | after  |
    bottle, glass, box, bag, drawer, basket, bucket, cup, suitcase, bus, bowl, hotel, train,
    trunk, chest
propre      | clean       | after  |
    clothes, kitchen, bathroom, bedroom, car, window, plate, glass, cup, fork, spoon, street,
    beach, bowl, curtain, blanket, towel, house, hand, table
sale        | dirty       | after  |
    clothes, kitchen, bathroom, car, window, plate, glass, cup, fork, spoon, street, bowl,
    curtain, blanket, towel, hand, table, dog, pig, river
chaud       | hot         | after  |
    tea, coffee, milk, soup, water, meat, pie, plate, rice, sand, pancake
froid       | cold        | after  |
    tea, coffee, milk, soup, water, meat, beer, sea, river, lake, bedroom, bathroom, cellar,
    house, hand, lemonade
frais       | fresh       | after  |
    bread, fish, milk, egg, cheese, butter, meat, strawberry, tomato, mushroom, salad, carrot
sec         | dry         | after  | towel, wood, grass, sock, bread, sand, path, leaf
mouillé     | wet         | after  |
    clothes, towel, grass, blanket, road, bench, rug, wood, dog, cat, umbrella
lourd       | heavy       | after  |
    bag, suitcase, box, basket, table, chair, stone, ladder, trunk, crate, chest, coat, book,
    statue, backpack, helmet, machine, bike, trophy, lamp, mirror, hammer, door
léger       | light       | after  |
    bag, suitcase, box, basket, chair, ladder, coat, backpack, helmet, bike, blanket, feather,
    jacket, racket, umbrella
dur         | hard        | after  | bread, bed, chair, stone, bench, wood, pillow
doux        | soft        | after  | blanket, pillow, towel, rug, scarf, sweater, feather
sucré       | sweet       | after  |
    cake, pie, jam, orange juice, lemonade, tea, cookie, fruits, chocolate
salé        | salty       | after  | soup, meat, cheese, butter, fish, rice, chicken, omelet
amer        | bitter      | after  | coffee, chocolate, beer, tea
délicieux   | delicious   | after  |
    dishes, soup, bread, cheese, tea, ice cream, strawberry, peach, meat, fish, salad, jam,
    wine, dinner, lunch, honey, melon
mûr         | ripe        | after  |
    apple, pear, cherry, strawberry, banana, peach, tomato, melon, orange, lemon
facile      | easy        | after  |
    question, exercise, lesson, exam, language, game, recipe, sentence, word
difficile   | difficult   | after  |
    question, exercise, lesson, exam, language, game, problem, recipe, sentence, word, poem,
    book
intéressant | interesting | after  |
    story, movie, book, novel, lesson, article, trip, museum, letter, magazine, city, idea,
    question, exam, game, answer
ennuyeux    | boring      | after  |
    story, movie, book, novel, lesson, article, trip, museum, game, party, magazine, match, exam
drôle       | funny       | after  |
    story, movie, book, song, game, dream, boy, girl, child, uncle, actor, poem, monkey
étrange     | strange     | after  |
    idea, story, dream, animal, man, noise, house, letter, question, hat, painting, movie,
    beast, woman, answer, word
important   | important   | after  |
    letter, question, message, exam, problem, rule, lesson, trip, answer, word, match
dangereux   | dangerous   | after  |
    road, game, animal, dog, bridge, snake, tool, river, highway, trail, machine, trip, beast,
    lion, tiger, mountain, bear
utile       | useful      | after  |
    tool, book, map, idea, ladder, machine, answer, bike, phone, umbrella, rule, recipe
calme       | quiet       | after  |
    street, village, neighborhood, park, square, beach, library, lake, hotel, garden, courtyard,
    island, restaurant, city, farm
bruyant     | noisy       | after  |
    street, machine, train, restaurant, neighbor, child, truck, avenue, motorcycle, bird, bus
rapide      | fast        | after  |
    car, train, boat, plane, motorcycle, horse, bike, deer, dog, mare, rabbit, bus, panther,
    ostrich
lent        | slow        | after  |
    train, boat, bus, turtle, donkey, snail, truck, tractor, mule, song
moderne     | modern      | after  |
    city, hospital, school, office, kitchen, apartment, library, airport, museum, station
ancien      | ancient     | after  |
    castle, church, bridge, city, statue, tower, wall, theater, map
sauvage     | wild        | after  | cat, horse, duck, goose, animal, beast, goat, rabbit, donkey
fragile     | fragile     | after  |
    vase, glass, cup, plate, mirror, toy, bowl, lamp, doll, carafe, teapot, statue
solide      | sturdy      | after  |
    chair, table, bridge, rope, ladder, box, bench, shelf, wall, boat, fence, door
cassé       | broken      | after  |
    chair, watch, toy, cup, window, machine, lamp, bike, radio, phone, clock, mirror, doll,
    umbrella
ouvert      | open        | after  |
    door, window, store, bank, museum, restaurant, library, pharmacy, bakery, box, drawer
fermé       | closed      | after  |
    door, window, store, bank, museum, restaurant, library, pharmacy, bakery, box, drawer, post
    office, theater, school
épais       | thick       | after  |
    book, rug, blanket, wall, coat, sweater, curtain, scarf, novel
sombre      | dark        | after  |
    street, forest, hallway, tunnel, cellar, alley, cave, bedroom, attic, garage, office
lumineux    | bright      | after  |
    bedroom, kitchen, living room, office, apartment, hallway, bathroom, star, sun, moon
boueux      | muddy       | after  | path, road, field, trail, boot, track, courtyard, shoe, pond
glissant    | slippery    | after  |
    road, path, bridge, street, track, footbridge, courtyard, trail
raide       | steep       | after  | hill, path, street, road, trail, mountain, roof, track
triste      | sad         | after  |
    man, woman, boy, girl, child, king, queen, prince, princess, story, song, movie, lady, poem
heureux     | happy       | after  |
    man, woman, boy, girl, child, king, queen, princess, dog, mother, father
gentil      | kind        | after  |
    man, woman, boy, girl, lady, king, queen, teacher, nurse, doctor, relatives, baker, dentist,
    neighbor, friend
intelligent | intelligent | after  |
    man, woman, boy, girl, child, dog, student, pupil, monkey, parrot, relatives, lawyer, engineer,
    cat
fort        | strong      | after  |
    man, woman, horse, boy, bear, soldier, lion, firefighter, mare, relatives
faible      | weak        | after  | child, animal, horse
riche       | rich        | after  |
    man, woman, lady, king, uncle, farmer, lawyer, dentist, aunt, cousin
poli        | polite      | after  |
    man, boy, girl, child, student, pupil, lady, guest, nephew, niece
célèbre     | famous      | after  |
    man, woman, actor, singer, writer, painter, musician, dancer, cook, restaurant, painting,
    museum, castle, song, city, bridge, tower, novel
courageux   | brave       | after  |
    man, woman, boy, girl, soldier, firefighter, dog, prince, princess, pilot, king, police
    officer, relatives
timide      | shy         | after  |
    boy, girl, child, student, pupil, cat, niece, nephew, rabbit, doe, daughter, son
curieux     | curious     | after  |
    boy, girl, child, cat, neighbor, tourist, student, dog, squirrel, goat, journalist, monkey,
    otter
paresseux   | lazy        | after  | boy, cat, pupil, student, donkey, dog, mule, cousin, brother
sérieux     | serious     | after  |
    man, woman, student, pupil, boy, girl, teacher, judge, secretary, lawyer
honnête     | honest      | after  |
    man, woman, lady, boy, baker, lawyer, judge, farmer, police officer, friend
patient     | patient     | after  |
    man, woman, teacher, nurse, mother, father, doctor, vet, librarian, grandfather, grandmother
blessé      | injured     | after  |
    soldier, dog, bird, horse, fox, boy, deer, cat, doe, mare, wolf, owl, pilot
sûr         | safe        | after  |
    bridge, road, street, path, trail, footbridge, square, park, city, neighborhood, ladder, rope
inondé      | flooded     | after  |
    road, street, field, tunnel, cellar, courtyard, path, square, garage, track, garden, village
gelé        | frozen      | after  | lake, river, pond, canal, stream, road
pourri      | rotten      | after  | fruits, vegetables, meat, fish, egg, wood
cru         | raw         | after  | meat, fish, egg, carrot, potato, chicken
mince       | thin        | after  | man, woman, boy, girl, mirror, wall, door, blanket, book, rope
prudent     | careful     | after  | man, woman, mouse, doe, cat, nurse, pilot, soldier
caché       | hidden      | after  | treasure, key, letter, camera, door, path, valley, cave
fatigué     | tired       | alone  | persons, animals
malade      | sick        | alone  | persons, animals
content     | pleased     | alone  | persons
fier        | proud       | alone  | persons
inquiet     | worried     | alone  | persons
fâché       | angry       | alone  | persons
seul        | alone       | alone  | persons
prêt        | ready       | alone  | persons
occupé      | busy        | alone  | persons
jaloux      | jealous     | alone  | persons
surpris     | surprised   | alone  | persons
nerveux     | nervous     | alone  | persons, horse, dog, mare
français    | French      | after  |
    movie, song, book, restaurant, car, painter, writer, actor, wine, cheese, singer, novel,
    newspaper, tourist, journalist
anglais     | English     | after  |
    movie, song, book, garden, painter, writer, actor, tea, singer, novel, newspaper, tourist,
    journalist
italien     | Italian     | after  |
    movie, song, book, restaurant, car, painter, writer, actor, wine, cheese, singer, tourist,
    journalist
espagnol    | Spanish     | after  |
    movie, song, book, restaurant, painter, writer, actor, wine, singer, novel, tourist, dancer
allemand    | German      | after  |
    movie, song, book, car, painter, writer, actor, beer, singer, novel, newspaper, engineer
"""

ADJECTIVES: tuple[Adjective, ...] = read_adjectives(_TABLE, NOUNS)

# Words that say all or nothing: a door is not very closed.
_ABSOLUTE = names(
    "alone, ancient, broken, closed, delicious, empty, flooded, frozen, full, hidden, injured, "
    "little, new, open, raw, ready, ripe, rotten, round, wet, wild, red, blue, green, yellow, "
    "black, white, gray, pink, brown, purple, French, English, Italian, Spanish, German"
)


def gradable(word: Adjective) -> bool:
    """Tell whether there is more and less of it: very tired, but not very closed."""
    return word.english not in _ABSOLUTE
