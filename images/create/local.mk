# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/crypto images/bundle images/foreign images/store
images_libimages_a_SOURCES += \
    %D%/artifact.cpp \
    %D%/artifact.hpp \
    %D%/create.cpp \
    %D%/create.hpp \
    %D%/for_hosts.cpp \
    %D%/for_hosts.hpp \
    %D%/image_stock.cpp \
    %D%/image_stock.hpp \
    %D%/inventory.cpp \
    %D%/inventory.hpp \
    %D%/package_workshop.cpp \
    %D%/package_workshop.hpp \
    %D%/packages.cpp \
    %D%/packages.hpp
