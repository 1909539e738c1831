# Configuration, units, completion.
