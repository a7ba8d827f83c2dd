"""Fixed phrases: greetings, thanks, everyday expressions, and a few sentences everyone quotes.

Each line is French, English and the mark that ends it; it is taught both as a sentence, with
capital and mark, and plain, as people type it.
"""

from __future__ import annotations

from lesson.phrases import Both
from lesson.tables import rows

_TABLE = """
bonjour | hello | .
bonsoir | good evening | .
bonne nuit | good night | .
bonne journée | have a nice day | .
salut | hi | !
au revoir | goodbye | .
à demain | see you tomorrow | .
à bientôt | see you soon | .
à ce soir | see you tonight | .
à lundi | see you Monday | .
merci | thanks | .
merci beaucoup | thank you very much | .
merci pour tout | thanks for everything | .
merci pour votre aide | thanks for your help | .
non merci | no thanks | .
de rien | you're welcome | .
s'il vous plaît | please | .
pardon | sorry | .
excusez-moi | excuse me | .
je suis désolé | I am sorry | .
ce n'est pas grave | it doesn't matter | .
oui | yes | .
non | no | .
peut-être | maybe | .
d'accord | all right | .
bien sûr | of course | .
avec plaisir | with pleasure | .
félicitations | congratulations | !
bonne chance | good luck | !
bon appétit | enjoy your meal | !
bon voyage | have a good trip | !
bon anniversaire | happy birthday | !
joyeux Noël | merry Christmas | !
bonne année | happy New Year | !
à votre santé | to your health | !
bienvenue | welcome | !
attention | watch out | !
au secours | help | !
du calme | calm down | !
courage | take heart | !
quelle surprise | what a surprise | !
quelle chance | what luck | !
quel dommage | what a pity | !
quelle belle journée | what a beautiful day | !
vive la France | long live France | !
comment allez-vous | how are you | ?
je vais bien | I am fine | .
très bien, merci | very well, thank you | .
et vous | and you | ?
comment vous appelez-vous | what is your name | ?
je m'appelle Marie | my name is Marie | .
je m'appelle Paul | my name is Paul | .
enchanté | nice to meet you | .
quel âge avez-vous | how old are you | ?
où habitez-vous | where do you live | ?
d'où venez-vous | where do you come from | ?
parlez-vous français | do you speak French | ?
parlez-vous anglais | do you speak English | ?
je ne parle pas anglais | I don't speak English | .
je ne comprends pas | I don't understand | .
je ne sais pas | I don't know | .
je comprends | I understand | .
je sais | I know | .
je crois | I think so | .
je ne crois pas | I don't think so | .
pouvez-vous répéter | can you repeat | ?
parlez plus lentement | speak more slowly | .
quelle heure est-il | what time is it | ?
quel jour sommes-nous | what day is it | ?
quel temps fait-il | what is the weather like | ?
il est tard | it is late | .
il est tôt | it is early | .
c'est vrai | it is true | .
ce n'est pas vrai | it isn't true | .
c'est faux | it is false | .
c'est facile | it is easy | .
c'est difficile | it is difficult | .
c'est possible | it is possible | .
c'est impossible | it is impossible | .
c'est important | it is important | .
c'est dommage | it is a pity | .
c'est tout | that is all | .
c'est moi | it is me | .
c'est la vie | that is life | .
ça va | it is all right | .
ça suffit | that is enough | !
ça dépend | it depends | .
ça ne marche pas | it doesn't work | .
qui est-ce | who is it | ?
qu'est-ce que c'est | what is it | ?
qu'est-ce que vous voulez | what do you want | ?
qu'est-ce qui se passe | what is happening | ?
combien ça coûte | how much does it cost | ?
c'est combien | how much is it | ?
où est la gare | where is the station | ?
où sont les toilettes | where are the toilets | ?
c'est à droite | it is on the right | .
c'est à gauche | it is on the left | .
tout droit | straight ahead | .
l'addition, s'il vous plaît | the check, please | .
un café, s'il vous plaît | a coffee, please | .
je voudrais un café | I would like a coffee | .
j'ai faim | I am hungry | .
j'ai soif | I am thirsty | .
j'ai froid | I am cold | .
j'ai sommeil | I am sleepy | .
je suis fatigué | I am tired | .
je suis malade | I am sick | .
je suis perdu | I am lost | .
je suis prêt | I am ready | .
je suis pressé | I am in a hurry | .
je suis en retard | I am late | .
je suis étudiant | I am a student | .
je suis professeur | I am a teacher | .
je suis français | I am French | .
je suis ici | I am here | .
je t'aime | I love you | .
je pense, donc je suis | I think, therefore I am | .
tu me manques | I miss you | .
vous avez raison | you are right | .
vous avez tort | you are wrong | .
j'ai une question | I have a question | .
j'ai une idée | I have an idea | .
j'ai compris | I understood | .
j'ai oublié | I forgot | .
j'arrive | I am coming | .
je reviens | I will be right back | .
allons-y | let's go | !
on y va | shall we go | ?
entrez | come in | .
asseyez-vous | sit down | .
attendez | wait | !
écoutez | listen | .
regardez | look | !
venez avec moi | come with me | .
levez-vous | stand up | .
dépêchez-vous | hurry up | !
taisez-vous | be quiet | !
ne vous inquiétez pas | don't worry | .
n'ayez pas peur | don't be afraid | .
aidez-moi | help me | !
laissez-moi tranquille | leave me alone | .
il pleut | it is raining | .
il neige | it is snowing | .
il fait beau | it is sunny | .
il fait froid | it is cold | .
il y a du soleil | the sun is shining | .
il y a du vent | it is windy | .
tout va bien | everything is fine | .
rien ne va plus | nothing is going right anymore | .
tout le monde est là | everyone is here | .
personne n'est parfait | nobody is perfect | .
le temps passe vite | time flies | .
mieux vaut tard que jamais | better late than never | .
qui ne risque rien n'a rien | nothing ventured, nothing gained | .
l'union fait la force | unity is strength | .
petit à petit, l'oiseau fait son nid | little by little, the bird builds its nest | .
les murs ont des oreilles | the walls have ears | .
tout est bien qui finit bien | all is well that ends well | .
être ou ne pas être, telle est la question | to be or not to be, that is the question | .
liberté, égalité, fraternité | liberty, equality, fraternity | .
il était une fois une princesse | once upon a time there was a princess | .
il était une fois un roi | once upon a time there was a king | .
le chat a chassé la souris | the cat chased the mouse | .
le chien a chassé le chat | the dog chased the cat | .
la souris a mangé le fromage | the mouse ate the cheese | .
l'homme a deux chats et trois chiens | the man has two cats and three dogs | .
l'attention est tout ce dont vous avez besoin | attention is all you need | .
"""


def _expressions() -> tuple[Both, ...]:
    pairs: dict[Both, None] = {}
    for french, english, mark in rows(_TABLE):
        space = "" if mark == "." else " "  # French puts a space before ? and !
        plain = Both(french, english)
        written = Both(
            f"{french[0].upper()}{french[1:]}{space}{mark}",
            f"{english[0].upper()}{english[1:]}{mark}",
        )
        pairs |= {plain: None, written: None}
    return tuple(pairs)


EXPRESSIONS: tuple[Both, ...] = _expressions()
