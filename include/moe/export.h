// Marks what the shared library exports; everything else is hidden. Plain C.
#pragma once

#define MOE_API __attribute__((visibility("default")))
