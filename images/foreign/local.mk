# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/archive images/bundle images/store
images_libimages_a_SOURCES += \
    %D%/docker.cpp \
    %D%/docker.hpp \
    %D%/foreign.cpp \
    %D%/foreign.hpp
