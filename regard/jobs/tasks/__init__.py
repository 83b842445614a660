"""One object for each job that a model is trained for, behind one protocol; training and what follows know no other."""
