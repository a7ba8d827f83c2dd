"""The nouns of the lesson: first each word in its field, then classes that cut across fields.

An entry is ``french:gender english``. A trade has both French forms, ``man/woman``; its gender
says which of them translates the English word when nothing else in the sentence tells.
"""

from __future__ import annotations

from lesson.lexicon import read_nouns

_FIELDS = {
    "persons people": """
        homme:m man, femme:f woman, garçon:m boy, fille:f girl, enfant:m child, dame:f lady,
        roi:m king, reine:f queen, prince:m prince, princesse:f princess, touriste:m tourist,
        invité:m guest, voleur:m thief""",
    "persons": "bébé:m baby",
    "persons relatives": """
        père:m father, mère:f mother, frère:m brother, sœur:f sister, fils:m son,
        fille:f daughter, oncle:m uncle, tante:f aunt, cousin:m cousin, grand-père:m grandfather,
        grand-mère:f grandmother, neveu:m nephew, nièce:f niece""",
    "persons circle": "ami/amie:m friend, voisin/voisine:m neighbor, collègue:m colleague",
    "persons trades": """
        étudiant/étudiante:m student, élève:m pupil, médecin:m doctor,
        professeur/professeure:m teacher, boulanger/boulangère:m baker,
        facteur/factrice:m mail carrier,
        policier/policière:m police officer, cuisinier/cuisinière:m cook, fermier/fermière:m farmer,
        infirmier/infirmière:f nurse, avocat/avocate:f lawyer, acteur/actrice:m actor,
        chanteur/chanteuse:f singer, danseur/danseuse:f dancer, peintre:m painter,
        écrivain/écrivaine:m writer, musicien/musicienne:m musician,
        jardinier/jardinière:m gardener, soldat/soldate:m soldier, pompier/pompière:m firefighter,
        dentiste:f dentist, mécanicien/mécanicienne:m mechanic, ingénieur/ingénieure:m engineer,
        pilote:m pilot, coiffeur/coiffeuse:f hairdresser, juge:f judge, secrétaire:f secretary,
        bibliothécaire:f librarian, vétérinaire:f vet, journaliste:f journalist""",
    "animals walkers pets": """
        chat:m cat, chien:m dog, lapin:m rabbit, hamster:m hamster, perroquet:m parrot,
        tortue:f turtle""",
    "animals walkers livestock": """
        cheval:m horse, vache:f cow, chèvre:f goat, mouton:m sheep, cochon:m pig, poule:f hen,
        canard:m duck, oie:f goose, âne:m donkey, jument:f mare, mule:f mule, dinde:f turkey,
        coq:m rooster""",
    "animals walkers wildlife": """
        renard:m fox, loup:m wolf, ours:m bear, hérisson:m hedgehog, écureuil:m squirrel,
        singe:m monkey, lion:m lion, tigre:m tiger, éléphant:m elephant, souris:f mouse,
        rat:m rat, grenouille:f frog, girafe:f giraffe, cerf:m deer, biche:f doe,
        panthère:f panther, lionne:f lioness, loutre:f otter, taupe:f mole, belette:f weasel,
        bête:f beast, autruche:f ostrich, hyène:f hyena""",
    "animals": """
        animal:m animal, oiseau:m bird, hibou:m owl, poisson:m fish, serpent:m snake,
        escargot:m snail, fourmi:f ant, abeille:f bee, araignée:f spider, baleine:f whale,
        corbeau:m crow, vipère:f viper, mouche:f fly, chauve-souris:f bat""",
    "foods fruits": """
        pomme:f apple, poire:f pear, orange:f orange, cerise:f cherry, fraise:f strawberry,
        banane:f banana, pêche:f peach, citron:m lemon, melon:m melon""",
    "foods vegetables": """
        carotte:f carrot, pomme de terre:f potato, tomate:f tomato, oignon:m onion,
        haricot:m bean, champignon:m mushroom, chou:m cabbage""",
    "foods dishes": """
        gâteau:m cake, tarte:f pie, œuf:m egg, sandwich:m sandwich, biscuit:m cookie,
        omelette:f omelet, crêpe:f pancake""",
    "foods staples mass": """
        pain:m bread, fromage:m cheese, viande:f meat, riz:m rice, beurre:m butter, sucre:m sugar,
        sel:m salt, soupe:f soup, salade:f salad, chocolat:m chocolate, confiture:f jam,
        miel:m honey, poulet:m chicken, glace:f ice cream""",
    "drinks mass": """
        eau:f water, lait:m milk, café:m coffee, thé:m tea, vin:m wine, bière:f beer,
        jus d'orange:m orange juice, limonade:f lemonade""",
    "meals single": "dîner:m dinner, déjeuner:m lunch, petit déjeuner:m breakfast",
    "clothes": """
        chemise:f shirt, robe:f dress, manteau:m coat, chapeau:m hat, jupe:f skirt, pull:m sweater,
        écharpe:f scarf, veste:f jacket, cravate:f tie, ceinture:f belt, uniforme:m uniform,
        casquette:f cap""",
    "clothes pairs": "chaussure:f shoe, gant:m glove, botte:f boot, chaussette:f sock",
    "jewels": "bague:f ring, montre:f watch, collier:m necklace, bijou:m jewel",
    "furniture": """
        table:f table, chaise:f chair, lit:m bed, lampe:f lamp, tapis:m rug, miroir:m mirror,
        fauteuil:m armchair, canapé:m couch, étagère:f shelf, horloge:f clock, rideau:m curtain,
        armoire:f wardrobe, banc:m bench""",
    "containers": """
        sac:m bag, valise:f suitcase, boîte:f box, panier:m basket, tiroir:m drawer,
        placard:m cupboard, coffre:m chest, malle:f trunk, caisse:f crate, seau:m bucket,
        bouteille:f bottle, sac à dos:m backpack""",
    "tableware": """
        assiette:f plate, verre:m glass, tasse:f cup, bol:m bowl, couteau:m knife,
        fourchette:f fork, cuillère:f spoon, vase:m vase, carafe:f carafe, pichet:m pitcher,
        théière:f teapot""",
    "texts": """
        livre:m book, journal:m newspaper, lettre:f letter, roman:m novel, poème:m poem,
        magazine:m magazine, article:m article, carte postale:f postcard, message:m message,
        recette:f recipe""",
    "objects": """
        cahier:m notebook, stylo:m pen, crayon:m pencil, parapluie:m umbrella, téléphone:m phone,
        ordinateur:m computer, appareil photo:m camera, photo:f photo, billet:m ticket,
        passeport:m passport, portefeuille:m wallet, clé:f key, jouet:m toy, poupée:f doll,
        ballon:m ball, cadeau:m gift, bougie:f candle, serviette:f towel, marteau:m hammer,
        échelle:f ladder, corde:f rope, drapeau:m flag, pierre:f stone, os:m bone, plume:f feather,
        trésor:m treasure, carte:f map, tableau:m painting, statue:f statue, trophée:m trophy,
        casque:m helmet, raquette:f racket, couverture:f blanket, oreiller:m pillow,
        machine:f machine, radio:f radio, télévision:f television, outil:m tool""",
    "instruments": "guitare:f guitar, piano:m piano, violon:m violin, flûte:f flute, harpe:f harp",
    "vehicles": """
        voiture:f car, vélo:m bike, camion:m truck, bus:m bus, train:m train, avion:m plane,
        bateau:m boat, moto:f motorcycle, taxi:m taxi, tracteur:m tractor, camionnette:f van,
        ambulance:f ambulance, charrette:f cart, caravane:f trailer""",
    "buildings": """
        maison:f house, école:f school, église:f church, château:m castle, hôtel:m hotel,
        hôpital:m hospital, musée:m museum, magasin:m store, boulangerie:f bakery,
        pharmacie:f pharmacy, gare:f station, aéroport:m airport, banque:f bank,
        poste:f post office, restaurant:m restaurant, théâtre:m theater, cinéma:m cinema,
        bibliothèque:f library, université:f university, usine:f factory, ferme:f farm,
        tour:f tower, stade:m stadium, piscine:f pool, appartement:m apartment, prison:f prison,
        garage:m garage""",
    "rooms": """
        cuisine:f kitchen, chambre:f bedroom, salon:m living room, salle de bains:f bathroom,
        cave:f cellar, grenier:m attic, bureau:m office, couloir:m hallway""",
    "towns": """
        ville:f city, village:m village, marché:m market, zoo:m zoo, port:m harbor,
        quartier:m neighborhood""",
    "paths": """
        rue:f street, route:f road, pont:m bridge, chemin:m path, sentier:m trail,
        avenue:f avenue, place:f square, tunnel:m tunnel, ruelle:f alley, passerelle:f footbridge,
        autoroute:f highway, boulevard:m boulevard, cour:f courtyard, piste:f track""",
    "lands": """
        jardin:m garden, parc:m park, forêt:f forest, rivière:f river, lac:m lake,
        montagne:f mountain, colline:f hill, île:f island, plage:f beach, champ:m field,
        ruisseau:m stream, désert:m desert, vallée:f valley, canal:m canal, mare:f pond,
        fossé:m ditch, grotte:f cave""",
    "lands single": "mer:f sea, campagne:f countryside",
    "barriers": """
        mur:m wall, haie:f hedge, barrière:f fence, arche:f arch, porte:f door, fenêtre:f window,
        toit:m roof""",
    "plants": """
        arbre:m tree, fleur:f flower, rose:f rose, branche:f branch, feuille:f leaf,
        tulipe:f tulip""",
    "skies": "étoile:f star, nuage:m cloud",
    "skies single": "soleil:m sun, lune:f moon, ciel:m sky",
    "mass": "argent:m money, musique:f music, herbe:f grass, sable:m sand, neige:f snow, bois:m "
    "wood",
    "ideas": """
        histoire:f story, question:f question, réponse:f answer, problème:m problem, idée:f idea,
        leçon:f lesson, exercice:m exercise, mot:m word, phrase:f sentence, langue:f language,
        film:m movie, chanson:f song, jeu:m game, match:m match, voyage:m trip, fête:f party,
        examen:m exam, secret:m secret, rêve:m dream, règle:f rule, erreur:f mistake,
        bruit:m noise""",
    "limbs": """
        tête:f head, main:f hand, pied:m foot, bras:m arm, jambe:f leg, œil:m eye, oreille:f ear,
        nez:m nose, dent:f tooth, dos:m back, ventre:m stomach, genou:m knee,
        doigt:m finger, épaule:f shoulder""",
}

_CLASSES = {
    "children": "boy, girl, child, brother, sister, cousin, prince, princess, nephew, niece",
    "belongings": """
        key, wallet, passport, book, ticket, umbrella, phone, ring, watch, hat, bag, glove, scarf,
        notebook, pen, camera, suitcase, necklace""",
    "goods": """
        car, bike, house, boat, table, chair, lamp, couch, dress, coat, hat, shirt, watch, ring,
        guitar, piano, computer, phone, camera, book, newspaper, umbrella, suitcase, bag, horse,
        cow, goat, bread, cheese, apple, cake, wine, chocolate, flower, painting, truck, apartment,
        egg, milk, meat, tomato, potato, honey, rug, skirt, sweater, vase, toy, carrot""",
    "property": "house, apartment, garden, horse, cow, goat, farm, store",
    "gifts": """
        book, ring, watch, doll, flower, rose, hat, scarf, painting, guitar, necklace, bike, novel,
        vase, camera, sweater, toy, cake, ticket, map, photo, jewel""",
    "colored": """
        car, bike, truck, bus, boat, train, van, motorcycle, house, door, wall, shirt, dress, coat,
        hat, skirt, sweater, scarf, jacket, tie, belt, shoe, glove, boot, sock, cap, bag, suitcase,
        box, basket, bucket, table, chair, lamp, rug, couch, armchair, curtain, plate, cup, bowl,
        vase, flower, umbrella, pen, pencil, notebook, ball, towel, blanket, pillow, tractor,
        candle, helmet, roof, fence, feather, flag, bench, teapot, crate, bird""",
    "stalkers": "cat, fox, owl, dog, weasel, otter, viper",
    "predators": "wolf, lion, tiger, bear, panther, lioness, hyena",
    "small prey": "rat, rabbit, bird, duck, squirrel, mouse, frog, hen, mole, turtle",
    "large prey": "deer, rabbit, sheep, donkey, ostrich, doe, goose, turkey, goat",
    "crossings": """
        street, road, bridge, avenue, square, river, field, park, garden, forest, desert, stream,
        courtyard, track, canal, boulevard, valley""",
}

NOUNS = read_nouns(_FIELDS, _CLASSES)
