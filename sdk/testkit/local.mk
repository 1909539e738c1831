# The test kit for plugins: a fake host with a fake clock, scripted peers, the conformance suite.
