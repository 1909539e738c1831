/*
 * The descriptor of the sketched plugins: one file with several types.
 */
#include "sketch.h"

CHELA_PLUGIN(sketch, "1.0", "what asks most of the SDK", "MIT", "", &gateway_iface, &poller_iface,
             &webhook_iface, &changing_iface, &asking_iface, &netstore_iface);
