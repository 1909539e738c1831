# The SDK's binary interface against its baseline in sdk/abi.
arch_tests += tests/abi/abi_test.sh
