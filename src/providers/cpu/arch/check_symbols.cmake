# cmake -DNM=<nm> -DOBJECTS=<a;b> -P check_symbols.cmake: fails when an object file of one instruction
# set defines anything with external or weak linkage but its kernel table. The linker could choose
# such a copy of an inline function for all callers, and older processors would then fault.
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} --defined-only --extern-only ${object}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\n$" "" symbols "${symbols}")
  string(REPLACE "\n" ";" symbols "${symbols}")
  list(LENGTH symbols count)
  list(FILTER symbols EXCLUDE REGEX "[DRB] _ZN3moe9providers3cpu[0-9]+k[A-Za-z0-9]+KernelsE$")
  # AddressSanitizer describes globals with symbols of its own.
  list(FILTER symbols EXCLUDE REGEX "__(odr_)?asan")
  if(symbols OR count EQUAL 0)
    message(FATAL_ERROR "${object}: ${count} symbols, not allowed: ${symbols}")
  endif()
endforeach()
