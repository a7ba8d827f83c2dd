"""The lesson: a French and English corpus that the project writes itself, by rule, from a seed.

Reading order::

    tables          how the tables are written
    french          spelling, agreement, numbers      french_verbs   conjugation
    english         the same for English
    lexicon         what a word is                    nouns, adjectives, verbs, expressions
    phrases         noun phrases and pronouns         clauses        tenses, negation, questions
    dice            chance that remembers its words
    cast, places, times                               who, where, when
    constructions/  one small function a kind of sentence, with its share of the corpus
    corpus          drawing, held-out combinations
    __main__        writes the file that the package ships

It is no part of the package: what people use is the file that it has written.
"""
