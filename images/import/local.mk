# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/archive daemon/content/crypto daemon/core images images/bundle
#   images/create images/foreign images/host images/store
images_libimages_a_SOURCES += \
    %D%/artifacts.cpp \
    %D%/artifacts.hpp \
    %D%/blob_stream.cpp \
    %D%/blob_stream.hpp \
    %D%/bundle_steps.cpp \
    %D%/bundle_steps.hpp \
    %D%/each_member.cpp \
    %D%/each_member.hpp \
    %D%/foreign_import.cpp \
    %D%/foreign_import.hpp \
    %D%/images_component.cpp \
    %D%/images_component.hpp \
    %D%/import.cpp \
    %D%/import.hpp \
    %D%/receive.cpp \
    %D%/receive.hpp \
    %D%/tasks.cpp \
    %D%/tasks.hpp
