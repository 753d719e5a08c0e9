"""Abstract execution of a host program: statements and values in, enqueue graph out."""
