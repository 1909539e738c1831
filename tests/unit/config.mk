# Tests of the configuration, the options, the loader and the registry.
unit_tests += tests/unit/options_test
