# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core daemon/runtime daemon/runtime/gpu daemon/runtime/inspect
daemon_runtime_libruntime_a_SOURCES += \
    %D%/check.cpp \
    %D%/component.cpp \
    %D%/component.hpp \
    %D%/driver_root.cpp \
    %D%/driver_root.hpp \
    %D%/facts.cpp \
    %D%/facts.hpp \
    %D%/file_search.cpp \
    %D%/file_search.hpp \
    %D%/generate.cpp \
    %D%/generate.hpp \
    %D%/inputs.cpp \
    %D%/inputs.hpp \
    %D%/mig_devices.cpp \
    %D%/mig_devices.hpp \
    %D%/modes.cpp \
    %D%/modes.hpp \
    %D%/nodes.cpp \
    %D%/nodes.hpp \
    %D%/other_specs.cpp \
    %D%/other_specs.hpp \
    %D%/parse.cpp \
    %D%/publisher.cpp \
    %D%/publisher.hpp \
    %D%/services.cpp \
    %D%/services.hpp \
    %D%/spec.cpp \
    %D%/spec.hpp \
    %D%/spec_documents.cpp \
    %D%/spec_documents.hpp \
    %D%/spec_files.cpp \
    %D%/spec_files.hpp \
    %D%/state.cpp \
    %D%/state.hpp \
    %D%/steps.cpp \
    %D%/steps.hpp \
    %D%/validations.cpp \
    %D%/validations.hpp
