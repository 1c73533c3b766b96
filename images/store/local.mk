# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/archive daemon/content/crypto daemon/core images images/bundle
images_libimages_a_SOURCES += \
    %D%/blob_source.cpp \
    %D%/blob_source.hpp \
    %D%/blob_store.cpp \
    %D%/blob_store.hpp \
    %D%/cached_catalogue.cpp \
    %D%/cached_catalogue.hpp \
    %D%/catalogue.cpp \
    %D%/catalogue.hpp \
    %D%/garbage.cpp \
    %D%/garbage.hpp \
    %D%/generations.cpp \
    %D%/generations.hpp \
    %D%/link_tree.cpp \
    %D%/link_tree.hpp \
    %D%/packages.cpp \
    %D%/packages.hpp \
    %D%/pins.cpp \
    %D%/pins.hpp \
    %D%/references.cpp \
    %D%/references.hpp \
    %D%/scrub.cpp \
    %D%/scrub.hpp
