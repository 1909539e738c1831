/*
 * Fault points, by the name under which the core knows them (see sdk/support/fault.h).
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include "support/fault.h"

#endif
