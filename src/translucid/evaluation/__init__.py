"""How good are translations? Scores that can be cited, tests of differences, and reports."""
