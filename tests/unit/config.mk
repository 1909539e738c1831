# Tests of the configuration, the options, the loader and the registry.
unit_tests += tests/unit/options_test tests/unit/settings_test tests/unit/settings_mistakes_test
