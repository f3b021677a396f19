/* All of Tenure. */
#ifndef TENURE_TENURE_H
#define TENURE_TENURE_H

#include "checkpoint.h"
#include "context.h"
#include "convert.h"
#include "digest.h"
#include "identify.h"
#include "lease.h"
#include "library.h"
#include "status.h"
#include "writer.h"

#endif
