# emu.mk: build.sh's rules for building the emulator. OUT, HERE and SOURCES are folders.
CXX ?= g++
WORK := $(OUT)/work
KERNELS := $(HERE)/..
LIBRARY := $(OUT)/libcuda.so.1
UNITS := $(basename $(notdir $(wildcard $(SOURCES)/*.cu)))
PARTS := $(basename $(notdir $(wildcard $(HERE)/*.cc)))
OBJECTS := $(PARTS:%=$(WORK)/%.o) $(UNITS:%=$(WORK)/%.plain.o) $(UNITS:%=$(WORK)/%.checked.o)

# AVX2 and FMA if the building machine has them: matrix products are four times as fast.
V3 := $(shell test "$$(uname -m)" = x86_64 && grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo && grep -qw bmi2 /proc/cpuinfo && echo -march=x86-64-v3)
FLAGS := -std=c++20 -O2 -gdwarf-4 -g1 $(V3) -fPIC -fvisibility=hidden -ffp-contract=off -fno-strict-aliasing -MMD -MP \
	-Wall -Wextra -Wno-missing-field-initializers -ffile-prefix-map=$(KERNELS)/= -ffile-prefix-map=$(SOURCES)/=
# A frame larger than a page accesses each of its pages, so that a stack cannot skip the unmapped page.
KERNEL_FLAGS := $(FLAGS) -fstack-clash-protection -fno-exceptions -Wno-unused-function -Wno-unknown-pragmas -Wno-unused-variable -Wno-unused-parameter \
	-Wno-sign-compare -I$(SOURCES) -I$(KERNELS)
# The calls before memory accesses, which hooks.cc defines.
CHECK_FLAGS := -fsanitize=thread --param tsan-instrument-func-entry-exit=0 --param tsan-distinguish-volatile=1

.DELETE_ON_ERROR:
$(LIBRARY): $(OBJECTS) $(WORK)/rest.o $(WORK)/exports
	$(CXX) -shared -Wl,-soname,libcuda.so.1 -Wl,--no-undefined -Wl,--version-script=$(WORK)/exports -o $@.new $(OBJECTS) $(WORK)/rest.o
	mv $@.new $@

$(PARTS:%=$(WORK)/%.o): $(WORK)/%.o: $(HERE)/%.cc
	$(CXX) $(FLAGS) -c $< -o $@

# Each source of kernels twice: without and with the checker's calls.
$(UNITS:%=$(WORK)/%.plain.cc): $(WORK)/%.plain.cc: $(SOURCES)/%.cu $(HERE)/wrap.sh
	CXX="$(CXX)" CXXFLAGS="-std=c++20 -I$(SOURCES) -I$(KERNELS)" sh $(HERE)/wrap.sh $< false >$@
$(UNITS:%=$(WORK)/%.checked.cc): $(WORK)/%.checked.cc: $(SOURCES)/%.cu $(HERE)/wrap.sh
	CXX="$(CXX)" CXXFLAGS="-std=c++20 -I$(SOURCES) -I$(KERNELS)" sh $(HERE)/wrap.sh $< true >$@
$(UNITS:%=$(WORK)/%.plain.o): $(WORK)/%.plain.o: $(WORK)/%.plain.cc
	$(CXX) $(KERNEL_FLAGS) -DEMU_UNIT=$* -c $< -o $@
$(UNITS:%=$(WORK)/%.checked.o): $(WORK)/%.checked.o: $(WORK)/%.checked.cc
	$(CXX) $(KERNEL_FLAGS) -DEMU_UNIT=$*_checked $(CHECK_FLAGS) -c $< -o $@

# Calls that programs link and that are not emulated return an error and log it.
$(WORK)/rest.c: $(HERE)/symbols.txt $(PARTS:%=$(WORK)/%.o)
	nm --defined-only $(PARTS:%=$(WORK)/%.o) | awk '$$2 == "T" && $$3 ~ /^cu[A-Z]/ { print $$3 }' | LC_ALL=C sort -u >$(WORK)/have
	LC_ALL=C sort -u $< | LC_ALL=C comm -23 - $(WORK)/have | awk 'BEGIN { print "int emu_unsupported(const char *);" } \
		{ print "__attribute__((visibility(\"default\"))) int " $$1 "(void) { return emu_unsupported(\"" $$1 "\"); }" }' >$@
$(WORK)/rest.o: $(WORK)/rest.c
	$(CXX) -x c -O1 -fPIC -fvisibility=hidden -c $< -o $@
$(WORK)/exports:
	echo '{ global: cu*; emu_*; local: *; };' >$@

-include $(OBJECTS:.o=.d)
