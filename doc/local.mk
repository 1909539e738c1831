# Documentation and man pages.
