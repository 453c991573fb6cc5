
b
x0Placeholder*
_user_specified_namex0*
dtype0*$
shape:ÿÿÿÿÿÿÿÿÿ
t
	AvgPool2DAvgPoolx0*
T0*
data_formatNHWC*
ksize
*
paddingVALID*
strides

(
IdentityIdentity	AvgPool2D*
T0"ª