"""From sentences to token ids and back.

::

    tokenizer.py            start here: what a tokenizer can do; train, load and register one
    sentencepiece.py        BPE and unigram, with subword sampling (BPE-dropout)
    sentencepiece_model.py  SentencePiece model files: train, read, convert
    word_and_character.py   whole words; single characters
    marian.py               that of an imported Marian model
    normalization.py        Unicode, typography, case
    sentences.py            splitting a text into sentences
    spans.py                parts of a text that are not translated: URLs, tags, ``%s``
    placeholders.py         what the network reads in place of such spans
    word_alignment.py       which words translate each other: IBM model 1
    languages.py            language codes
"""
