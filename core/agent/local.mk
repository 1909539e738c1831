# The sources are found by m4/fragments.sh; what else the folder needs stands here.
