"""Labs: claims about Transformers, each as a short file that measures it.

A lab is a module of its own, of at most 100 lines:

    '''Its title.'''
    CLAIM, SOURCE, PREDICT, CHANGE      what is claimed, by whom; what to predict; what to change next
    CLAIMS                              the numbers of the claims in claims.tsv that it answers
    WIDTH = 32                          knobs, in capitals
    run(seeds, mechanism=…) -> Finding  the measurement; its mechanism is an argument
    draw(finding) -> Picture
    broken(seeds) -> Finding            the mechanism taken out: the verdict must turn
    control(seeds) -> Finding           where a claim fails: a case in which the same measure says that it holds

The themes are folders, whose docstring opens them and whose LABS is their order.
"""
