# SPDX-License-Identifier: Apache-2.0
# may include: nothing
noinst_LIBRARIES += %D%/libbase.a
%C%_libbase_a_SOURCES = \
    %D%/arguments.cpp \
    %D%/arguments.hpp \
    %D%/become.cpp \
    %D%/become.hpp \
    %D%/clock.cpp \
    %D%/clock.hpp \
    %D%/contains.hpp \
    %D%/elf.cpp \
    %D%/elf.hpp \
    %D%/error.cpp \
    %D%/error.hpp \
    %D%/file_users.cpp \
    %D%/file_users.hpp \
    %D%/handle.hpp \
    %D%/hex.cpp \
    %D%/hex.hpp \
    %D%/ini.cpp \
    %D%/ini.hpp \
    %D%/interrupt.cpp \
    %D%/interrupt.hpp \
    %D%/json.cpp \
    %D%/json.hpp \
    %D%/json_fwd.hpp \
    %D%/kernels.cpp \
    %D%/kernels.hpp \
    %D%/local_users.cpp \
    %D%/local_users.hpp \
    %D%/log.cpp \
    %D%/log.hpp \
    %D%/mapped_file.cpp \
    %D%/mapped_file.hpp \
    %D%/messages.hpp \
    %D%/nearest.cpp \
    %D%/nearest.hpp \
    %D%/page_buffer.hpp \
    %D%/parse.cpp \
    %D%/parse.hpp \
    %D%/process.cpp \
    %D%/process.hpp \
    %D%/prometheus.cpp \
    %D%/prometheus.hpp \
    %D%/rate_limit.cpp \
    %D%/rate_limit.hpp \
    %D%/result.hpp \
    %D%/root.cpp \
    %D%/root.hpp

# A separate library, so that only programs that read YAML link yaml-cpp.
noinst_LIBRARIES += %D%/libyaml.a
%C%_libyaml_a_CPPFLAGS = $(AM_CPPFLAGS) $(YAML_CFLAGS)
%C%_libyaml_a_SOURCES = \
    %D%/yaml.cpp \
    %D%/yaml.hpp

# A separate library, because of its compiler flags.
noinst_LIBRARIES += %D%/libinstalled.a
installed_cppflags = -DGPUHOST_LIBEXECDIR='"$(gpuhostlibexecdir)"'
%C%_libinstalled_a_CPPFLAGS = $(AM_CPPFLAGS) $(installed_cppflags)
%C%_libinstalled_a_SOURCES = \
    %D%/installed.cpp \
    %D%/installed.hpp

EXTRA_DIST += %D%/prelude.hpp
if PCH
prelude = %D%/prelude.hpp.gch
BUILT_SOURCES += $(prelude)
CLEANFILES += $(prelude)
$(prelude): %D%/prelude.hpp config.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(CXX) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) \
	    $(SANITIZER_CXXFLAGS) $(GPUHOST_CXXFLAGS) $(CXXFLAGS) -x c++-header $< -o $@
endif
