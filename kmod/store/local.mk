# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/archive daemon/content/crypto daemon/content/package
#   daemon/content/set daemon/core kmod/holder kmod/module
kmod_libkmod_gpu_a_SOURCES += \
    %D%/flavour_choice.cpp \
    %D%/flavour_choice.hpp \
    %D%/installed_driver.cpp \
    %D%/installed_driver.hpp \
    %D%/json.cpp \
    %D%/layout.cpp \
    %D%/layout.hpp \
    %D%/loaded_set.cpp \
    %D%/loaded_set.hpp \
    %D%/manifest.cpp \
    %D%/manifest.hpp \
    %D%/module_set.cpp \
    %D%/module_set.hpp \
    %D%/package_modules.cpp \
    %D%/package_modules.hpp \
    %D%/publish.cpp \
    %D%/publish.hpp \
    %D%/remove.cpp \
    %D%/remove.hpp \
    %D%/stage.cpp \
    %D%/stage.hpp \
    %D%/stage_packages.cpp \
    %D%/stage_source.cpp \
    %D%/stage_source.hpp \
    %D%/store.cpp \
    %D%/store.hpp \
    %D%/supported_gpus.cpp \
    %D%/supported_gpus.hpp \
    %D%/unpack_bundle.cpp \
    %D%/unpack_bundle.hpp \
    %D%/verify.cpp
