# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/crypto daemon/content/package daemon/content/set daemon/core
#   daemon/runtime daemon/runtime/inspect daemon/runtime/toml
daemon_runtime_libruntime_a_SOURCES += \
    %D%/choice.cpp \
    %D%/choice.hpp \
    %D%/component.cpp \
    %D%/component.hpp \
    %D%/config.cpp \
    %D%/config.hpp \
    %D%/documents.cpp \
    %D%/documents.hpp \
    %D%/kinds.cpp \
    %D%/options.cpp \
    %D%/options.hpp \
    %D%/package.cpp \
    %D%/package.hpp \
    %D%/publish.cpp \
    %D%/remove.cpp \
    %D%/select.cpp \
    %D%/set.cpp \
    %D%/set.hpp \
    %D%/stage.cpp \
    %D%/stage.hpp \
    %D%/steps.hpp \
    %D%/store.cpp \
    %D%/store.hpp \
    %D%/unpack.cpp \
    %D%/use.cpp \
    %D%/use.hpp
