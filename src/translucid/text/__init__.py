"""From sentences to token ids and back.

::

    normalize.py                 the one spelling of a text, and the key by which sentences compare
    tokenizer.py                 start here: train, load, the ids that every tokenizer shares
    interface.py                 what every tokenizer can do
    sentencepiece_tokenizer.py   BPE and unigram pieces, bytes for all other characters
    sentencepiece_training.py    learning such pieces from text
    sentencepiece_model.py       the file that sentencepiece writes, read and checked
    subword_sampling.py          BPE-dropout and unigram sampling as pure functions
    normalizing.py               a tokenizer that normalises text as the training text was
    noise.py                     a sentence as people type it: no capitals, no accents, no marks
    spans.py                     what is not translated, and the placeholders that stand for it
    lexical.py                   which words translate which: IBM model 1
    piece_list.py                a vocabulary that is a plain list, kept as readable JSON
    word.py, character.py        whole words; single characters
"""
