"""C and C++ on the interpreter: variables with addresses, blocks with an end, the API by out-parameters."""
