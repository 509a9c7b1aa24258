# selftest.mk: run.sh's rules for building the test program. OUT and HERE are folders.
CXX ?= g++
OBJECTS := $(patsubst $(HERE)/%.cc,$(OUT)/work/test_%.o,$(wildcard $(HERE)/*.cc))

$(OUT)/selftest: $(OBJECTS)
	$(CXX) -static-libstdc++ -static-libgcc $(OBJECTS) -o $@ -ldl -pthread
$(OUT)/work/test_%.o: $(HERE)/%.cc
	$(CXX) -std=gnu++20 -O1 -Wall -Wextra -Wno-missing-field-initializers -MMD -MP -c $< -o $@

-include $(OBJECTS:.o=.d)
